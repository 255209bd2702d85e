"""Measure reports and diffs of Mach-O images against `llvm-nm -C -n`, in pairs.

CPU time (user and system) as a ratio, and peak memory. The images are libtorch_cpu.dylib of two
macOS wheels of torch, or one larger than that.

python -m tests.bench.macho_speed libtorch_cpu.dylib --old before/libtorch_cpu.dylib
"""

from __future__ import annotations

import compileall
import statistics
import sys
from pathlib import Path

from tests.bench.report_speed import LARGE, measure
from tests.support.places import ROOT, SIZEGUARD
from tests.support.script import Tally, options_of

REPORT, DIFF = 0.8, 1.5  # times the time of llvm-nm for one image
MEMORY = {False: 500, True: 1331}  # MiB, for an image below and above LARGE


def compare(title: str, command: list[str], image: Path, runs: int, most: float) -> bool:
    """Print the measurements; return whether the limits hold."""
    pairs = []
    for _ in range(runs):
        theirs, _ = measure(["llvm-nm", "-C", "-n", str(image)])
        pairs.append((theirs, *measure([str(SIZEGUARD), *command])))
    ratio = statistics.median(ours / theirs for theirs, ours, _ in pairs)
    seconds = statistics.median(ours for _, ours, _ in pairs)
    peak = max(peak for _, _, peak in pairs)
    memory = MEMORY[image.stat().st_size >= LARGE] * (2 if command[0] == "diff" else 1)
    kept = ratio <= most and peak <= memory
    print(
        f"  {title:<20} {seconds:6.2f} s  {ratio:5.2f} × llvm-nm  {peak:5} MiB   limits {most} ×,"
        f" {memory} MiB{'' if kept else '  ✗'}",
        flush=True,
    )
    return kept


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("image", type=Path)
    parser.add_argument("--old", type=Path, help="An older build of the image.")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--limit", action="store_true", help="Fail if a limit is not kept.")
    given = parser.parse_args()
    compileall.compile_dir(ROOT / "sizeguard", quiet=1)
    image, old = str(given.image), str(given.old or given.image)
    cases = (
        ("report by symbol", ["report", image, "--by", "symbol", "-n", "50"], REPORT),
        ("diff by symbol", ["diff", old, image, "--by", "symbol"], DIFF),
    )
    tally = Tally()
    print(f"{given.image.name}: medians of {given.runs} pairs")
    for title, command, most in cases:
        kept = compare(title, command, given.image, given.runs, most)
        tally.check(kept or not given.limit, f"{title}: beyond a limit")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
