"""Test that deselecting a dtype removes the bytes labeled with it, and no others.

Covers all dtypes and two branches; tests/soak/savings/dtype_truth.py covers more branches, with
more compilers.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.attribution.size_report import CORE, OUTSIDE, UNATTRIBUTED
from sizeguard.builds.build_record import Build
from sizeguard.predict.savings.image_savings import Savings
from sizeguard.predict.what_if import kept_by, predictor_of
from sizeguard.selection.read import read_selection
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.builds.dtype_rebuilds import (
    Branch,
    Predictor,
    build_with,
    build_without_dtypes,
    code_of,
    everything,
)
from tests.support.whole_products import choose

FIRST = Branch("logical_not", "Byte")
BRANCHES = (Branch("sigmoid", "Double"), Branch("avg_pool2d", "Double"))


def test_all_code_of_kernels_has_a_dtype_or_is_neutral(full_build: Build) -> None:
    analysis = analysis_of(full_build.image.parent)
    operator, kind, dtype = (analysis.label(level) for level in ("operator", "kind", "dtype"))
    sums = {"named": 0, "neutral": 0, "none": 0, "unattributed": 0}
    for row, load in enumerate(analysis.load.tolist()):
        owner = operator.texts[operator.ids[row]]
        if owner == UNATTRIBUTED:
            sums["unattributed"] += load
        elif owner not in (CORE, OUTSIDE) and kind.texts[kind.ids[row]] == "code":
            text = dtype.texts[dtype.ids[row]]
            sums["neutral" if text == "neutral" else "named" if text else "none"] += load
    assert sums["none"] == 0
    assert sums["unattributed"] <= 0.005 * analysis.image.load
    assert sums["named"] > 15_000
    assert sums["neutral"] > 15_000


def test_without_dtypes_named_code_is_gone_and_neutral_code_stays(
    root: Path, toolchain: Toolchain, full_build: Build
) -> None:
    full = code_of(full_build)
    left = code_of(
        build_without_dtypes(
            root, toolchain, "s", root / "build" / "tests" / "dtype-truth", everything(root)
        )
    )
    named = sum(full.named.values())
    assert sum(left.named.values()) <= 0.01 * named
    assert abs(full.total - left.total - named) <= 0.03 * full.kernels
    assert abs(left.neutral - full.neutral) <= 0.03 * full.kernels


@pytest.mark.parametrize(
    "branch",
    choose(BRANCHES[:1], BRANCHES),
    ids=lambda b: f"{b.tag}-{b.dtype}",
)
def test_a_branch_that_goes_takes_its_bytes(
    root: Path, toolchain: Toolchain, full_build: Build, branch: Branch
) -> None:
    folder = root / "build" / "tests" / "dtype-truth"

    def load(*gone: Branch) -> tuple[int, Build]:
        rest = {
            tag: [dtype for dtype in dtypes if Branch(tag, dtype) not in gone]
            for tag, dtypes in everything(root).items()
        }
        built = build_with(root, toolchain, "s", folder, rest)
        return built.sizes.load, built

    # Deselecting a first branch adds the handler of deselected dtypes, so both builds have it.
    with_branch, built = load(FIRST)
    selection = read_selection(built.selection).selection
    predicted = Predictor(root, built).predicted(branch)
    measured = with_branch - load(FIRST, branch)[0]
    assert predicted > 48
    assert abs(predicted - measured) <= max(0.1 * measured, 48)
    # Predicted from the full build only: the branch's saving in the image without the first one.
    folder = full_build.image.parent
    predictor = predictor_of(folder)
    kept = kept_by(selection, predictor, dtypes=True)
    saving = Savings(predictor, folder).of(kept).dtypes[branch.tag, branch.dtype]
    assert saving is not None
    assert saving.low <= measured <= saving.high
    assert saving.high - saving.low <= max(128, 0.75 * measured)
