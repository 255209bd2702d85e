"""Laws of savings and their intervals, and builds whose savings are unknown."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.builds.build_record import Build
from sizeguard.cli.main import cli
from sizeguard.predict.predictor import Kept, Predictor
from sizeguard.predict.savings.code_changes import Span, case_span, shared_span, table_span
from sizeguard.predict.savings.image_savings import ImageSavings, Savings
from sizeguard.predict.what_if import kept_by
from sizeguard.selection.read import read_selection
from tests.support.builds.dtype_rebuilds import branches
from tests.support.histories.app_tree import selection_of

COUNT = st.integers(1, 10)


@given(st.integers(0, 400), st.integers(0, 10), COUNT, st.booleans())
def test_a_span_holds_its_most_likely_bytes(
    code: int, others: int, copies: int, has_handler: bool
) -> None:
    for span in (
        case_span(code, others, copies, has_handler=has_handler),
        table_span(others, copies),
        shared_span(code, others),
    ):
        assert span.low <= span.less <= span.high
        assert span + Span(1, 0, 2) == Span(span.less + 1, span.low, span.high + 2)


def test_a_deselected_case_leaves_at_least_a_jump() -> None:
    """A case of 9 bytes (a body's address and a jump) becomes a call of at most 18 bytes."""
    span = case_span(9, others=6, copies=1)
    assert span.less == 9 - 12
    assert span.high - span.low <= 64


@pytest.fixture(scope="module")
def savings(predictor: Predictor, full_build: Build) -> Savings:
    return Savings(predictor, full_build.image.parent)


@pytest.fixture(scope="module")
def found(savings: Savings) -> ImageSavings:
    return savings.of(Kept())


def test_every_operator_and_branch_has_an_interval(
    found: ImageSavings, predictor: Predictor, root: Path
) -> None:
    assert found.unknown == ()
    assert set(found.operators) == predictor.operators
    assert set(found.dtypes) == {(branch.tag, branch.dtype) for branch in branches(root)}
    for saving in (*found.operators.values(), *found.dtypes.values()):
        assert saving is not None
        assert saving.low <= saving.bytes <= saving.high


def test_the_handler_is_counted_once(
    found: ImageSavings, savings: Savings, predictor: Predictor, root: Path
) -> None:
    """Once one dtype is deselected, others save more: the image already has the handler."""
    kept: dict[str, set[str]] = {}
    for branch in branches(root):
        kept.setdefault(branch.tag, set()).add(branch.dtype)
    kept["logical_not"].remove("Byte")
    then = savings.of(Kept(dtypes={tag: frozenset(dtypes) for tag, dtypes in kept.items()}))
    assert found.handler > 0 == then.handler
    assert ("logical_not", "Byte") not in then.dtypes
    before, after = found.dtypes["gelu", "Float"], then.dtypes["gelu", "Float"]
    assert before is not None and after is not None
    assert after.bytes == before.bytes + found.handler


def test_the_last_dtype_of_a_switch_is_unknown(
    savings: Savings, predictor: Predictor, root: Path
) -> None:
    """A switch without any case also loses the code after it."""
    path = selection_of("vision")
    kept = kept_by(read_selection(path).selection, predictor, dtypes=True)
    assert kept.dtypes is not None
    there = savings.of(kept).dtypes
    lonely = [branch for branch in there if len(kept.dtypes[branch[0]]) == 1]
    assert lonely
    assert all(there[branch] is None for branch in lonely)
    assert any(saving is not None for saving in there.values())


def record_with(full: Build, folder: Path, **changes: str) -> Path:
    """Write a changed record of the full build to a folder."""
    record = json.loads((full.image.parent / "build.json").read_text())
    (folder / "build.json").write_text(json.dumps(record | changes))
    return folder


def test_without_debug_information_dtypes_are_unknown(
    full_build: Build, predictor: Predictor, tmp_path: Path
) -> None:
    image = tmp_path / "run_program"
    subprocess.run(["objcopy", "--strip-debug", str(full_build.image), str(image)], check=True)
    folder = record_with(full_build, tmp_path, image=str(image))
    found = Savings(predictor, folder).of(Kept(operators=frozenset({"aten::relu"})))
    assert found.dtypes == {}
    assert "no debug information" in found.unknown[0]
    assert found.operators["aten::relu"] is not None
    path = tmp_path / "selected.yaml"
    path.write_text(
        "include_all_operators: false\noperators:\n  aten::relu: {include_all_overloads: false}\n"
    )
    words = ["predict", "--full", str(folder), "--selection", str(path), "--format"]
    result = json.loads(CliRunner().invoke(cli, [*words, "json"]).stdout)
    assert result["per_dtype"] == []
    assert [row["saving"] for row in result["per_operator"]] == [None]
    text = CliRunner().invoke(cli, [*words, "terminal"]).stdout
    assert "unknown" in text and all(reason in text for reason in result["unknown"])


def test_with_lto_all_is_unknown(full_build: Build, predictor: Predictor, tmp_path: Path) -> None:
    found = Savings(predictor, record_with(full_build, tmp_path, lto="full")).of(Kept())
    assert found.operators == found.dtypes == {}
    assert "LTO" in found.unknown[0]
