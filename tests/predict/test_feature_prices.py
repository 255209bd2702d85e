"""Prices of build features: functions of this build's graph, and a rest that other builds gave."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.claims.listed_names import BuildNames, FeatureMarks
from sizeguard.claims.names_file import names_text, parse_names
from sizeguard.predict import what_if
from sizeguard.predict.predictor import Kept, Predictor, Size
from tests.support.builds.made_predictors import made_predictor
from tests.support.links.made_graphs import made_graph

NONE = np.zeros(0, np.int64)
FULL = 1000  # bytes of sections: main 400, check 300, its helper 40, a shared function 260
GRAPH = made_graph([400, 300, 40, 260], [(0, 1), (0, 3), (1, 2), (1, 3)], [0], {})
CONSTANT, SHARE = 10, 20


def predictor(
    marks: FeatureMarks, feature: tuple[int, int] | None = (CONSTANT, SHARE)
) -> Predictor:
    features = {"checks": marks, "messages": FeatureMarks()}
    return made_predictor(GRAPH, Size(FULL, 0), features, feature)


def test_functions_are_those_of_this_build_and_the_rest_is_measured() -> None:
    """The build that was measured had 120 bytes of functions and 30 within others."""
    found = predictor(FeatureMarks(functions=("f1", "inlined"), load=150, linked=120))
    without = Kept(features=frozenset({"messages"}))
    assert found.size(Kept()) == Size(FULL, 0)
    assert found.size(without).load == FULL - 340 - 30
    # A fifth of the rest may be wrong, and a twentieth of the functions.
    assert found.size(without).margin == CONSTANT + 30 // 5 + 340 // 20
    assert found.size(Kept(features=frozenset({"checks", "messages"}))) == Size(FULL, 0)
    cost = next(each for each in found.feature_costs(Kept()) if each.feature == "checks")
    assert cost.price is not None
    assert (cost.price.bytes, cost.price.low, cost.price.high) == (370, 337, 403)


def test_the_measured_functions_are_those_that_the_linker_drops() -> None:
    found = predictor(FeatureMarks())
    assert found.linked(("f1", "elsewhere")) == 340
    assert found.linked(("f3",)) == 260
    assert found.linked(()) == 0


@pytest.mark.parametrize(
    ("marks", "less"),
    [
        (FeatureMarks(functions=("f1",), load=150), 150),
        (FeatureMarks(load=150), 150),
        (FeatureMarks(functions=("gone",), load=150, linked=120), 150),
    ],
    ids=["functions that were not measured", "no functions", "functions that are inlined here"],
)
def test_without_functions_the_measurement_counts(marks: FeatureMarks, less: int) -> None:
    kept = Kept(features=frozenset({"messages"}))
    assert predictor(marks).size(kept).load == FULL - less


def test_measurements_of_other_kinds_of_builds_do_not_count() -> None:
    found = predictor(FeatureMarks(functions=("f1",), load=150, linked=120), None)
    assert found.size(Kept(features=frozenset())) == Size(FULL, 0)
    assert [each.price for each in found.feature_costs(Kept())] == [None, None]


def test_the_file_of_names_keeps_both_numbers() -> None:
    marks = FeatureMarks(functions=("f",), load=150, linked=120)
    names = BuildNames({}, {}, (), {"checks": marks})
    text = names_text(names)
    assert parse_names(text, "names.json").features == {"checks": marks}
    content = json.loads(text)
    del content["features"]["checks"]["linked"]  # files from before have none
    assert parse_names(json.dumps(content), "names.json").features["checks"].linked == 0


def test_an_operator_that_no_library_registers_has_no_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code may name any operator; one that is not registered ended the prediction."""
    table = {"aten::a": [0], "aten::b": [1]}
    monkeypatch.setattr(what_if, "operators", lambda graph: table)
    monkeypatch.setattr(what_if, "reachable", lambda graph, nodes: np.isin(np.arange(2), nodes))
    branches = SimpleNamespace(
        tag=np.array([0, 1]),
        holder=np.array([0, 1]),
        tags=(frozenset({"s"}), frozenset({"t"})),
        guarded={},
    )
    made: Any = SimpleNamespace(graph=None, branches=branches)
    assert what_if._tags(made, {"aten::a", "aten::gone"}) == {"s"}
