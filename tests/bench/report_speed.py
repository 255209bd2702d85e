"""Measures reports and diffs against `nm -S --size-sort -C`, paired in one run: wall time as a ratio, and peak memory.

python tests/bench/report_speed.py libtorch_cpu.so libtensorflow_cc.so.2 --runs 7
"""

from __future__ import annotations

import argparse
import compileall
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

# Command, limit of the ratio to nm, limit of the peak in MiB: for libtorch_cpu.so.
CASES: tuple[tuple[str, tuple[str, ...], float, int], ...] = (
    ("report by symbol", ("report", "{}", "--by", "symbol", "-n", "50"), 0.45, 600),
    ("report by operator,dtype", ("report", "{}", "--by", "operator,dtype", "-n", "50"), 1.0, 600),
    ("diff by symbol", ("diff", "{}", "{}", "--by", "symbol"), 1.0, 800),
    ("diff by operator,dtype", ("diff", "{}", "{}", "--by", "operator,dtype"), 1.7, 800),
)


def measure(command: list[str]) -> tuple[float, int]:
    """Seconds of wall time and the peak in MiB."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return seconds, usage.ru_maxrss >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--limit", action="store_true", help="Fail if a limit of libtorch_cpu.so is not kept.")
    given = parser.parse_args()
    # As pip installs it: where PYTHONDONTWRITEBYTECODE is set, compiling its modules would be measured, 0.1 s in each run.
    compileall.compile_dir(Path(__file__).parents[2] / "sizeguard", quiet=1)
    sizeguard = str(Path(sys.executable).parent / "sizeguard")
    broken = False
    for image in given.images:
        print(f"{image.name}: medians of {given.runs} pairs")
        for name, words, most, memory in CASES:
            ratios, seconds, peaks = [], [], []
            for _ in range(given.runs):
                theirs, _ = measure(["nm", "-S", "--size-sort", "-C", str(image)])
                ours, peak = measure([sizeguard, *(word.format(image) for word in words)])
                ratios.append(ours / theirs)
                seconds.append(ours)
                peaks.append(peak)
            ratio = statistics.median(ratios)
            spread = f"{min(ratios):.2f}–{max(ratios):.2f}"
            kept = ratio <= most and max(peaks) <= memory
            broken |= not kept
            verdict = f"limits {most} × nm, {memory} MiB{'' if kept else '  ✗'}"
            print(f"  {name:<26} {statistics.median(seconds):6.2f} s  {ratio:5.2f} × nm ({spread})  {max(peaks):5} MiB   {verdict}")
    if broken and given.limit:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
