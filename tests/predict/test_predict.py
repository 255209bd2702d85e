"""Predictions, compared with builds, and the laws that they obey."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.builds.build_record import Build
from sizeguard.cli.main import cli
from sizeguard.predict.call_closure import closure
from sizeguard.predict.predictor import Kept, Predictor
from sizeguard.predict.what_if import kept_by, predict, predictor_of
from sizeguard.runtimes.sizeguard.building.tracing import trace_programs
from sizeguard.runtimes.sizeguard.source_facts import read_listed
from sizeguard.selection.read import read_selection
from sizeguard.selection.selection import Selection
from sizeguard.selection.union import merge
from sizeguard.selection.without_model import models_of, without_model


def test_a_prediction_does_not_depend_on_those_before(
    predictor: Predictor, full_build: Build
) -> None:
    known = predictor.operators
    some = frozenset(sorted(known)[::3])
    without = frozenset(predictor.facts.features) - {predictor.facts.verbose_feature}
    asked = [
        Kept(some, features=without),
        Kept(some),
        Kept(known, features=without),
        Kept(known, dtypes={"add": ["Float"]}),
        Kept(known, dtypes={"add": ["Long"]}),
    ]
    expected = [predictor_of(full_build.image.parent).size(kept) for kept in asked]
    assert len(set(expected)) == len(asked)
    assert [predictor.size(kept) for kept in [*asked, *reversed(asked)]] == [
        *expected,
        *reversed(expected),
    ]


def test_everything_is_the_full_build(predictor: Predictor, full_build: Build) -> None:
    size = predictor.size(Kept())
    assert (size.load, size.ram, size.margin) == (full_build.sizes.load, full_build.sizes.ram, 0)


@pytest.mark.parametrize("model", ["mlp"])
def test_against_builds(
    predictor: Predictor,
    selection: Callable[..., Path],
    selective: Callable[..., Build],
    model: str,
) -> None:
    wanted = read_selection(selection(model)).selection
    by_operators = selective(model, dtypes=False).sizes
    predicted = predictor.size(kept_by(wanted, predictor, dtypes=False))
    assert abs(predicted.load - by_operators.load) <= 0.005 * by_operators.load
    assert abs(predicted.ram - by_operators.ram) <= 64
    by_dtypes = selective(model).sizes
    predicted = predictor.size(kept_by(wanted, predictor, dtypes=True))
    assert abs(predicted.load - by_dtypes.load) <= min(0.03 * by_dtypes.load, predicted.margin)


def test_more_operators_are_never_smaller(predictor: Predictor) -> None:
    chance = random.Random(0)
    names = sorted(predictor.operators)
    for _ in range(40):
        chosen = frozenset(chance.sample(names, chance.randrange(len(names) - 1)))
        more = chosen | {chance.choice(names)}
        assert predictor.size(Kept(chosen)).load <= predictor.size(Kept(more)).load


def test_fewer_dtypes_are_never_larger(predictor: Predictor) -> None:
    """The first removal adds a handler that all switches share, so sizes are compared after it."""
    tags = sorted({tag for tags in predictor.branches.tags for tag in tags})
    all_dtypes = frozenset(predictor.branches.dtypes)
    chance = random.Random(0)
    metadata = dict.fromkeys(tags, all_dtypes)
    before = None
    while metadata:
        tag = chance.choice(sorted(metadata))
        metadata = {
            **metadata,
            tag: frozenset(chance.sample(sorted(metadata[tag]), len(metadata[tag]) - 1)),
        }
        metadata = {key: value for key, value in metadata.items() if value}
        now = predictor.size(Kept(None, None, metadata))
        assert before is None or now.load <= before
        before = now.load if now.margin else None


def test_without_tools_and_sources(full_build: Build, tmp_path: Path) -> None:
    """Predict without a compiler on PATH and without a source tree."""
    path = tmp_path / "selected.yaml"
    path.write_text(
        "include_all_operators: false\noperators:\n  aten::relu: {include_all_overloads: false}\n"
    )
    command = [
        "predict",
        "--selection",
        str(path),
        "--full",
        str(full_build.image.parent),
        "--format",
        "json",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "sizeguard.cli.main", *command],
        cwd=tmp_path,
        env={"PATH": "", "HOME": os.environ.get("HOME", "")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [row["operator"] for row in result["per_operator"]] == ["aten::relu"]
    assert 0 < result["load"] < full_build.sizes.load


def test_what_ifs(predictor: Predictor, root: Path) -> None:
    chosen = read_selection(
        root / "native" / "apps" / "vision" / "selected_operators.yaml"
    ).selection
    result = predict(
        predictor, chosen, "vision", dtypes=True, add=("aten::gelu:Float",), drop=("mobilenet_v2",)
    )
    assert [change.what for change in result.changes] == ["+aten::gelu:Float", "-mobilenet_v2"]
    assert result.changes[0].delta > 0 > result.changes[1].delta
    assert result.before + sum(change.delta for change in result.changes) == result.load
    assert "aten::gelu" in {row.operator for row in result.per_operator}
    assert "aten::hardtanh" not in {row.operator for row in result.per_operator}
    both = predict(predictor, chosen, "vision", dtypes=True)
    assert {row.model for row in both.per_model} == set(models_of(chosen))
    for row in both.per_model:
        less = predictor.size(
            kept_by(without_model(chosen, row.model), predictor, dtypes=True)
        ).load
        assert row.marginal == both.load - less


def test_a_model_takes_its_dtypes_with_it(
    predictor: Predictor,
    selection: Callable[..., Path],
    program: Callable[..., Path],
    instrumented_build: Build,
    tmp_path: Path,
) -> None:
    """A trace of two models without one of them equals the trace of the other, including dtypes.

    An operator added by the user stays.
    """
    traced = tmp_path / "both.yaml"
    trace_programs(
        instrumented_build, [program("mlp"), program("int_ops")], traced, executed_only=False
    )
    both, alone = read_selection(traced).selection, read_selection(selection("mlp")).selection
    assert (
        merge([("a", alone), ("b", read_selection(selection("int_ops")).selection)]).selection
        == both
    )
    assert both.kernel_metadata != alone.kernel_metadata
    less = without_model(both, "int_ops")
    assert (less.kernel_metadata, less.provenance) == (alone.kernel_metadata, alone.provenance)
    dropped = predict(predictor, both, "both", dtypes=True, drop=("int_ops",))
    assert dropped.load == predict(predictor, alone, "mlp", dtypes=True).load
    added = predict(
        predictor, both, "both", dtypes=True, add=("aten::gelu:Float",), drop=("int_ops",)
    )
    assert (
        added.load == predict(predictor, alone, "mlp", dtypes=True, add=("aten::gelu:Float",)).load
    )


def test_what_cannot_be_predicted(predictor: Predictor, core_build: Build, tmp_path: Path) -> None:
    with pytest.raises(InconclusiveError, match="nothing is called aten::geluu; nearest is aten"):
        predict(predictor, Selection(), "none", dtypes=True, add=("aten::geluu",))
    with pytest.raises(InputError, match="no dtype Flout"):
        predict(predictor, Selection(), "none", dtypes=True, add=("aten::gelu:Flout",))
    with pytest.raises(InputError, match="names no model other"):
        predict(predictor, Selection(), "none", dtypes=True, drop=("other",))
    with pytest.raises(InputError, match="predictions need the full build"):
        predictor_of(core_build.image.parent)
    with pytest.raises(InconclusiveError, match="build again"):
        read_listed(tmp_path / "kernel_tags.json")


def test_closure_holds_what_composites_call(predictor: Predictor) -> None:
    assert {"aten::addmm"} <= closure(predictor.graph, predictor.facts.dispatch, ["aten::linear"])
    assert closure(predictor.graph, predictor.facts.dispatch, ["aten::relu"]) >= {"aten::relu"}


def test_command(full_build: Build) -> None:
    runner = CliRunner()
    for format_ in ("terminal", "csv", "markdown"):
        done = runner.invoke(cli, ["predict", "--app", "vision", "--format", format_])
        assert done.exit_code == 0, done.output
        assert "aten::convolution" in done.output
    result = json.loads(
        runner.invoke(cli, ["predict", "--app", "vision", "--format", "json"]).output
    )
    assert set(result) >= {"selection", "load", "ram", "per_operator", "per_model"}
    assert any(row["saving"] for row in result["per_operator"])
    savings = [row["saving"] for row in result["per_dtype"] if row["saving"]]
    assert savings
    assert all(row["low"] <= row["bytes"] <= row["high"] for row in savings)
    jsonschema.validate(
        result,
        json.loads(
            resources.files("sizeguard.report").joinpath("schemas/predict.schema.json").read_text()
        ),
    )
