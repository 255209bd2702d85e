"""Compare what predictions say that an operator or a dtype branch saves with rebuilds.

    python -m tests.soak.savings.saving_truth [--compilers gcc-s,clang-2] [--seed 0]
    [--operators 25] [--branches 100]

Draws operators and branches of dtype switches, and builds the full runtime without each of them.

Holds if the intervals hold the truth for 95 % of the operators and for 95 % of the branches, each
has one, and the median width is at most max(64 bytes, 25 % of the saving). A figure without the
branches of --seen SEED says how those do that were not drawn before. Exit code 1 otherwise.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Set
from dataclasses import dataclass

from sizeguard.predict.prediction import PredictedSaving
from sizeguard.predict.predictor import Kept
from sizeguard.predict.savings.image_savings import Savings
from sizeguard.predict.what_if import predictor_of
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.builds.dtype_rebuilds import Branch
from tests.support.builds.removal_rebuilds import Removals
from tests.support.places import ROOT
from tests.support.script import Tally, options_of

ENOUGH, BYTES, SHARE = 0.95, 64, 0.25
Drawn = tuple[list[str], list[Branch]]


@dataclass(frozen=True, slots=True)
class Row:
    """One part that was left out: what a rebuild saves, and what was predicted."""

    name: str
    truth: int
    saving: PredictedSaving | None
    is_new: bool

    @property
    def holds(self) -> bool:
        return self.saving is not None and self.saving.low <= self.truth <= self.saving.high

    @property
    def width(self) -> int:
        return self.saving.high - self.saving.low if self.saving else sys.maxsize

    @property
    def allowed(self) -> float:
        return max(BYTES, SHARE * abs(self.truth))


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--compilers", default="gcc-s,clang-2")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--operators", type=int, default=25)
    parser.add_argument("--branches", type=int, default=100)
    parser.add_argument("--seen", type=int, action="append", default=[])
    options = parser.parse_args()
    tally = Tally()
    for name in options.compilers.split(","):
        compiler, _, optimize = name.partition("-")
        folder = ROOT / "build" / "saving-truth" / f"{compiler}-O{optimize}"
        removals = Removals(ROOT, find_toolchain(compiler, None), optimize, folder)
        counts = options.operators, options.branches
        seen = [draw(removals, seed, *counts) for seed in options.seen]
        known = {part for drawn in seen for parts in drawn for part in parts}
        check(tally, name, removals, draw(removals, options.seed, *counts), known)
    return tally.close()


def check(
    tally: Tally, name: str, removals: Removals, drawn: Drawn, known: Set[str | Branch]
) -> None:
    """Rebuild with one compiler; `known`: parts that were drawn before."""
    full = removals.full()
    load = removals.without().sizes.load
    tally.check(
        full.sizes.load == load,
        f"{name}: {load:,} bytes with everything by name, {full.sizes.load:,} full",
    )
    predictor = predictor_of(full.image.parent)
    found = Savings(predictor, full.image.parent).of(Kept())
    operators, branches = drawn
    rows = []
    print(f"{name}: rebuilt, predicted, interval")
    for branch in branches:
        truth = load - removals.without(branch=branch).sizes.load
        saving = found.dtypes.get((branch.tag, branch.dtype))
        rows.append(shown(f"{branch.tag}:{branch.dtype}", truth, saving, branch not in known))
    judge(tally, f"{name} branches", rows)
    rows = []
    for operator in operators:
        truth = load - removals.without(operator=operator).sizes.load
        saving = found.operators.get(operator)
        rows.append(shown(operator, truth, saving, operator not in known))
    judge(tally, f"{name} operators", rows)


def draw(removals: Removals, seed: int, operators: int, branches: int) -> Drawn:
    chance = random.Random(seed)
    return chance.sample(removals.operators, operators), chance.sample(removals.branches, branches)


def shown(name: str, truth: int, saving: PredictedSaving | None, is_new: bool) -> Row:
    row = Row(name, truth, saving, is_new)
    text = f"{saving.bytes:7,} [{saving.low:,} … {saving.high:,}]" if saving else "unknown"
    print(f"  {name:44} {truth:7,} {text:32} {'' if row.holds else '✗'}", flush=True)
    return row


def judge(tally: Tally, title: str, rows: list[Row]) -> None:
    if not rows:
        return
    held = sum(row.holds for row in rows)
    new = [row.holds for row in rows if row.is_new]
    share = statistics.median(row.width / row.allowed for row in rows)
    width = statistics.median(row.width for row in rows)
    exact = sum(row.saving is not None and row.saving.bytes == row.truth for row in rows)
    said = (
        f"{title}: {held} of {len(rows)} intervals hold the truth, {sum(new)} of the {len(new)}"
        f" not seen before; median width {width:,} bytes, {share:.2f} of what is allowed; {exact}"
        f" exact; {sum(row.saving is None for row in rows)} unknown"
    )
    print(said, flush=True)
    tally.check(held >= ENOUGH * len(rows) and share <= 1, said)


if __name__ == "__main__":
    sys.exit(main())
