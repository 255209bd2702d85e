"""Measure reports and diffs against `nm -S --size-sort -C`, in pairs.

CPU time (user and system) as a ratio, and peak memory.

python -m tests.bench.report_speed libtorch_cpu.so libtensorflow_cc.so.2 --old
before/libtorch_cpu.so --runs 7

A diff is of the image with itself, with a copy that has one more byte, and with an older build if
one is given. A diff with itself reads one image. The names of an older build are mostly the same,
but none lies where it did.
"""

from __future__ import annotations

import compileall
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path

from tests.support.places import ROOT, SIZEGUARD
from tests.support.script import Tally, options_of

# Command, limit of the ratio to nm, limits of the peak in MiB: for libtorch_cpu.so, and for one
# twice as large.
CASES: tuple[tuple[str, tuple[str, ...], float, tuple[int, int]], ...] = (
    ("report by symbol", ("report", "{new}", "--by", "symbol", "-n", "50"), 0.4, (600, 1126)),
    (
        "report by operator,dtype",
        ("report", "{new}", "--by", "operator,dtype", "-n", "50"),
        0.65,
        (600, 1126),
    ),
    ("diff by symbol", ("diff", "{old}", "{new}", "--by", "symbol"), 0.9, (800, 1536)),
    ("diff", ("diff", "{old}", "{new}"), 0.9, (800, 1536)),
    (
        "diff by operator,dtype",
        ("diff", "{old}", "{new}", "--by", "operator,dtype"),
        1.7,
        (800, 1536),
    ),
)
LARGE = 600 << 20  # bytes of an image from which the second limit of memory counts


def measure(command: list[str]) -> tuple[float, int]:
    """Return the seconds of CPU time and the peak in MiB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10


def compare(
    title: str, command: list[str], image: Path, runs: int, most: float, memory: int
) -> bool:
    """Print the measurements; return whether the limits hold."""
    sizeguard = str(SIZEGUARD)
    ratios, seconds, peaks = [], [], []
    for _ in range(runs):
        theirs, _ = measure(["nm", "-S", "--size-sort", "-C", str(image)])
        ours, peak = measure([sizeguard, *command])
        ratios.append(ours / theirs)
        seconds.append(ours)
        peaks.append(peak)
    ratio = statistics.median(ratios)
    spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
    kept = ratio <= most and max(peaks) <= memory
    verdict = f"limits {most} × nm, {memory} MiB{'' if kept else '  ✗'}"
    print(
        f"  {title:<36} {statistics.median(seconds):6.2f} s  {ratio:5.2f} × nm ({spread}) "
        f" {max(peaks):5} MiB   {verdict}",
        flush=True,
    )
    return kept


def changed_copy(image: Path, folder: Path) -> Path:
    """Copy an image, and append a byte: a diff must compare all rows, and finds one."""
    copy = folder / image.name
    shutil.copyfile(image, copy)
    with copy.open("ab") as file:
        file.write(b"\0")
    return copy


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("images", nargs="+", type=Path)
    parser.add_argument(
        "--old",
        nargs="+",
        type=Path,
        default=[],
        help="Older builds of the images, in their order.",
    )
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--limit", action="store_true", help="Fail if a limit is not kept.")
    given = parser.parse_args()
    # As pip installs it: where PYTHONDONTWRITEBYTECODE is set, compiling its modules would be
    # measured, 0.1 s in each run.
    compileall.compile_dir(ROOT / "sizeguard", quiet=1)
    tally = Tally()
    for image, old in zip_longest(given.images, given.old):
        print(f"{image.name}: medians of {given.runs} pairs")
        for name, words, most, memory in CASES:
            with tempfile.TemporaryDirectory() as folder:
                others = {"": image}
                if words[0] == "diff":
                    others[", changed copy"] = changed_copy(image, Path(folder))
                    others |= {", older build": old} if old is not None else {}
                for which, before in others.items():
                    command = [word.format(old=before, new=image) for word in words]
                    most_memory = memory[image.stat().st_size >= LARGE]
                    kept = compare(name + which, command, image, given.runs, most, most_memory)
                    tally.check(kept or not given.limit, f"{image.name}, {name}{which}: beyond")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
