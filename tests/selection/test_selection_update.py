"""What an update keeps of the selection that it replaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.gate.selection.retrace import REACHABLE, TRACED, WIDENED, _kept_parts, _same
from sizeguard.projects.project import App
from sizeguard.selection.selection import SelectedOperator, Selection

APP = App("a", Path("native/apps/a/selected_operators.yaml"), ())
OLD = Selection(build_features=frozenset({"verbose_errors", "bundled_inputs"}))
USED = [
    ("one.sgp", Selection(build_features=frozenset({"bundled_inputs"}))),
    ("two.sgp", Selection()),
]


@pytest.mark.parametrize("how", [WIDENED, REACHABLE])
def test_a_selection_that_is_widened_keeps_everything(how: str) -> None:
    assert list(_kept_parts(APP, OLD, USED, how)) == [("selected_operators.yaml", OLD)]


def test_a_traced_selection_keeps_features_that_no_model_uses() -> None:
    """People ask for these features, and no trace shows them."""
    [(name, kept)] = _kept_parts(APP, OLD, USED, TRACED)
    assert name == "selected_operators.yaml"
    assert kept == Selection(build_features=frozenset({"verbose_errors"}))


def test_a_traced_selection_keeps_nothing_if_models_use_all_features() -> None:
    old = Selection(build_features=frozenset({"bundled_inputs"}))
    assert list(_kept_parts(APP, old, USED, TRACED)) == []


def test_a_family_is_more_than_one_of_its_operators() -> None:
    """The update said that a traced selection was unchanged, and left all overloads in the file."""
    family, one = (
        Selection({"aten::mean": SelectedOperator(include_all_overloads=every)})
        for every in (True, False)
    )
    assert not _same(family, one)
    overload = Selection({"aten::mean.dim": SelectedOperator(include_all_overloads=True)})
    assert _same(overload, Selection({"aten::mean.dim": SelectedOperator(True, True, False)}))
