"""Compare predicted with measured bytes, for builds that lack a dtype or a branch.

    python -m tests.soak.savings.dtype_truth [--compilers gcc,clang] [--optimize s,2]
    [--seeds 0,1,2] [--each 10]

Must hold, for every compiler and optimization:

1. A build with every dtype deselected lacks the named code of the full build as it ships and has
   its neutral code, each within 3 % of the kernels' code. In it neutral code is not lost on other
   grounds: dtype_rebuilds.build_without_dtypes says how. Code is compared with code. What the whole
   image loses is printed beside it: more with clang, which makes a table of functions of a switch
   that has all its cases, with a relocation for each. A second view needs no such build: two
   builds, each without half of the dtypes, with a branch in every switch. Each lacks the named code
   of what it has not, and has the neutral code, within 3 %. Their sum has no limit: it counts twice
   what each switch costs whose form changes with the first branch that goes (a table of functions
   becomes code, 60 to 90 bytes for 20 switches with clang -Os). 2. Without one branch of a switch,
   the predicted change is the measured one within max(10 %, 48 B) for 90 % of the branches drawn.
   The prediction is made from the full build: bodies and everything that only they reach, imports
   that only those use, and the code of the case inside the neutral function, by the inline frames
   of the same build with -g, which must have the same size.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.projects.root import project_root
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain
from tests.support.builds.dtype_rebuilds import (
    CASES,
    Branch,
    Code,
    Predictor,
    branches,
    build_with,
    build_without_dtypes,
    code_of,
    everything,
)
from tests.support.script import Tally, options_of

SHARE, BYTES, ENOUGH = 0.10, 48, 0.90
TOTAL = 0.03
ALL = frozenset(dtype for dtypes in CASES.values() for dtype in dtypes)
HALF = frozenset({"Byte", "Short", "Long", "Double", "Half"})
FIRST = Branch("logical_not", "Byte")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--compilers", default="gcc,clang")
    parser.add_argument("--optimize", default="s,2")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--each", type=int, default=10)
    options = parser.parse_args()
    tally = Tally()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    for compiler in options.compilers.split(","):
        for optimize in options.optimize.split(","):
            check(tally, compiler, optimize, seeds, options.each)
    return tally.close()


def check(tally: Tally, compiler: str, optimize: str, seeds: list[int], each: int) -> None:
    root = project_root()
    where = f"{compiler} -O{optimize}"
    toolchain = find_toolchain(compiler, None)
    folder = root / "build" / "soak" / f"dtype-truth-{compiler}-{optimize}"
    kept = everything(root)
    full = build_with(root, toolchain, optimize, folder / "full", kept)
    nothing(tally, root, toolchain, optimize, folder, full, kept, where)
    halves(tally, root, toolchain, optimize, folder, full, kept, where)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXXFLAGS", "-g")
        debug = build_with(root, toolchain, optimize, folder / "debug", kept)
    tally.check(
        debug.sizes.load == full.sizes.load,
        f"{where}: {debug.sizes.load:,} bytes with debug information, {full.sizes.load:,} without",
    )
    predictor = Predictor(root, full, debug)
    # The first branch that goes brings the handler of deselected dtypes: both builds have it, and
    # another branch of the switch is gone.
    good = total = 0
    for seed in seeds:
        for branch in random.Random(seed).sample(
            [branch for branch in branches(root) if branch != FIRST], each
        ):
            # The first branch of a switch that goes changes its form: clang turns a table of
            # functions, with a relocation each, into code. Of two branches none may go before:
            # without both, what follows the switch is never reached.
            others = [
                Branch(branch.tag, dtype) for dtype in kept[branch.tag] if dtype != branch.dtype
            ]
            before = [FIRST, *(others[:1] if len(others) > 1 else [])]
            base = without(root, toolchain, optimize, folder, kept, before)
            predicted, measured = (
                predictor.predicted(branch),
                base - without(root, toolchain, optimize, folder, kept, [*before, branch]),
            )
            ok = abs(predicted - measured) <= max(SHARE * abs(measured), BYTES)
            good, total = good + ok, total + 1
            print(
                f"  {seed} "
                f" {branch.tag + ' ' + branch.dtype:36}{predicted:8,}{measured:8,}"
                f"{predicted - measured:8,}"
                f"  {'' if ok else '✗'}",
                flush=True,
            )
    print(f"  {good} of {total} within max({SHARE:.0%}, {BYTES} B)")
    tally.check(good >= ENOUGH * total, f"{where}: {good} of {total} predictions hold")


def nothing(
    tally: Tally,
    root: Path,
    toolchain: Toolchain,
    optimize: str,
    folder: Path,
    full: Build,
    kept: dict[str, list[str]],
    where: str,
) -> None:
    """Compare a build without any dtype."""
    code = code_of(full)
    print(
        f"\n{where}: full {full.sizes.load:,}; code of kernels {code.kernels:,}: named"
        f" {code.of(ALL):,}, neutral {code.neutral:,}"
    )
    built = build_without_dtypes(root, toolchain, optimize, folder / "nothing", kept)
    compare(tally, code, code_of(built), ALL, where, full.sizes.load - built.sizes.load)


def halves(
    tally: Tally,
    root: Path,
    toolchain: Toolchain,
    optimize: str,
    folder: Path,
    full: Build,
    kept: dict[str, list[str]],
    where: str,
) -> None:
    """Compare two builds, each without half of the dtypes, with the full build's report."""
    code = code_of(full)
    named, lost, lost_load, left_over, grown = code.of(ALL), 0, 0, 0, 0
    for title, gone in (("half", HALF), ("rest", ALL - HALF)):
        left = {
            tag: [dtype for dtype in dtypes if dtype not in gone] for tag, dtypes in kept.items()
        }
        if not all(left.values()):
            raise ValueError(
                f"switches without a branch: {[tag for tag, dtypes in left.items() if not dtypes]}"
            )
        built = build_with(root, toolchain, optimize, folder / title, left)
        without_it = code_of(built)
        compare(tally, code, without_it, gone, where, full.sizes.load - built.sizes.load)
        lost += code.total - without_it.total
        left_over += without_it.of(gone)
        grown += without_it.neutral - code.neutral
        lost_load += full.sizes.load - built.sizes.load
    print(
        f"  both: code lost {lost:,}, named {named:,}: {(lost - named) / code.kernels:+.2%} of the"
        f" kernels' code; image lost {lost_load:,}"
    )
    print(
        f"  named code that is gone: {named - left_over:,}; neutral code of switches without cases,"
        f" in two builds: {grown:+,}",
        flush=True,
    )


def compare(
    tally: Tally, full: Code, half: Code, gone: frozenset[str], where: str, lost_load: int
) -> None:
    lost, named = full.total - half.total, full.of(gone)
    grown = half.neutral - full.neutral
    title = "any dtype" if gone == ALL else ", ".join(sorted(gone))
    print(
        f"  without {title}: code lost {lost:,}, named {named:,}"
        f" ({(lost - named) / full.kernels:+.2%}); of it left {half.of(gone):,}; other dtypes"
        f" {full.of(ALL - gone):,} → {half.of(ALL - gone):,}; neutral {full.neutral:,} →"
        f" {half.neutral:,} ({grown / full.kernels:+.2%}); image lost {lost_load:,}",
        flush=True,
    )
    tally.check(
        abs(lost - named) <= TOTAL * full.kernels,
        f"{where}: code lost {lost:,}, named {named:,} of {full.kernels:,} bytes of kernels",
    )
    tally.check(
        abs(grown) <= TOTAL * full.kernels,
        f"{where}: neutral code changes from {full.neutral:,} to {half.neutral:,}",
    )


def without(
    root: Path,
    toolchain: Toolchain,
    optimize: str,
    folder: Path,
    kept: dict[str, list[str]],
    gone: list[Branch],
) -> int:
    """Return the loaded bytes of a build without some branches."""
    rest = {
        tag: [dtype for dtype in dtypes if Branch(tag, dtype) not in gone]
        for tag, dtypes in kept.items()
    }
    return build_with(
        root,
        toolchain,
        optimize,
        folder / "one",
        {tag: dtypes for tag, dtypes in rest.items() if dtypes},
    ).sizes.load


if __name__ == "__main__":
    sys.exit(main())
