"""Turns builds without a dtype into the table of what was predicted and what was measured.

    python tests/soak/dtype_truth.py [--compilers gcc,clang] [--optimize s,2] [--seeds 0,1,2] [--each 10]

Must hold, for every compiler and optimization: without any dtype the neutral bytes stay and the named ones go, within 3 %;
without one branch of a switch, the predicted change is the measured one within max(10 %, 48 B) for 90 % of the branches drawn.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from dtype_rebuilds import NO_DTYPE, Branch, Predictor, branches, build_with, everything, named_bytes

from sizeguard.build.toolchain import Toolchain, find_toolchain
from sizeguard.project import project_root

SHARE, BYTES, ENOUGH = 0.10, 48, 0.90
TOTAL = 0.03
FIRST = Branch("logical_not", "Byte")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compilers", default="gcc,clang")
    parser.add_argument("--optimize", default="s,2")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--each", type=int, default=10)
    options = parser.parse_args()
    failures = []
    for compiler in options.compilers.split(","):
        for optimize in options.optimize.split(","):
            failures += check(compiler, optimize, [int(seed) for seed in options.seeds.split(",")], options.each)
    for failure in failures:
        print(f"FAIL {failure}")
    print("ok" if not failures else f"{len(failures)} limits broken")
    return 1 if failures else 0


def check(compiler: str, optimize: str, seeds: list[int], each: int) -> list[str]:
    root = project_root()
    where = f"{compiler} -O{optimize}"
    toolchain = find_toolchain(compiler, None)
    folder = root / "build" / "soak" / f"dtype-truth-{compiler}-{optimize}"
    kept = everything(root)
    full = build_with(root, toolchain, optimize, folder / "full", kept)
    named, neutral = named_bytes(full)
    predictor = Predictor(root, full)
    none = build_with(root, toolchain, optimize, folder / "none", NO_DTYPE)
    lost = full.sizes.load - none.sizes.load
    _, neutral_left = named_bytes(none)
    print(
        f"\n{where}: full {full.sizes.load:,}, without dtypes {none.sizes.load:,}: lost {lost:,}; named {named:,}, neutral {neutral:,}",
        flush=True,
    )
    print(f"  neutral code left {neutral_left:,} of {neutral:,}")
    failures = []
    if abs(lost - named) > TOTAL * (named + neutral):
        failures.append(f"{where}: lost {lost:,}, named {named:,} of {named + neutral:,} bytes of kernels")
    # The first branch that goes brings the handler of deselected dtypes: both builds have it, and another branch of the switch is gone.
    good = total = 0
    for seed in seeds:
        for branch in random.Random(seed).sample([branch for branch in branches(root) if branch != FIRST], each):
            # The first branch of a switch that goes changes its form: clang turns a table of functions, with a relocation each, into code.
            # Of two branches none may go before: without both, what follows the switch is never reached.
            others = [Branch(branch.tag, dtype) for dtype in kept[branch.tag] if dtype != branch.dtype]
            before = [FIRST, *(others[:1] if len(others) > 1 else [])]
            base = without(root, toolchain, optimize, folder, kept, before)
            predicted, measured = predictor.predicted(branch), base - without(root, toolchain, optimize, folder, kept, [*before, branch])
            ok = abs(predicted - measured) <= max(SHARE * abs(measured), BYTES)
            good, total = good + ok, total + 1
            print(
                f"  {seed}  {branch.tag + ' ' + branch.dtype:36}{predicted:8,}{measured:8,}{predicted - measured:8,}  {'' if ok else '✗'}",
                flush=True,
            )
    print(f"  {good} of {total} within max({SHARE:.0%}, {BYTES} B)")
    if good < ENOUGH * total:
        failures.append(f"{where}: {good} of {total} predictions hold")
    return failures


def without(root: Path, toolchain: Toolchain, optimize: str, folder: Path, kept: dict[str, list[str]], gone: list[Branch]) -> int:
    """Loaded bytes of a build that leaves some branches out."""
    rest = {tag: [dtype for dtype in dtypes if Branch(tag, dtype) not in gone] for tag, dtypes in kept.items()}
    return build_with(root, toolchain, optimize, folder / "one", {tag: dtypes for tag, dtypes in rest.items() if dtypes}).sizes.load


if __name__ == "__main__":
    sys.exit(main())
