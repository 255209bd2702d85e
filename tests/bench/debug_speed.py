"""Measure reports of an image with debug information and of its twin without, in pairs.

By symbol and by section the twin may be at most 0.1 s of CPU time faster; by operator and dtype
3 s and 300 MiB are the limit for an image of 56 MB.

python -m tests.bench.debug_speed build/full/run_program
"""

from __future__ import annotations

import compileall
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.report_speed import measure
from tests.support.places import ROOT, SIZEGUARD
from tests.support.script import Tally, options_of

MORE = 0.1  # seconds that debug information may cost
SECONDS, MEMORY = 3.0, 300  # of a report by operator and dtype; memory in MiB
SIZE = 56 << 20  # bytes of the image that these limits are for


def main() -> int:
    """Compare the median times with the limits, and print them."""
    parser = options_of(__doc__)
    parser.add_argument("image", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    compileall.compile_dir(ROOT / "sizeguard", quiet=1)
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        twin = Path(folder) / given.image.name
        subprocess.run(["strip", "-g", "-o", str(twin), str(given.image)], check=True)
        for level in ("symbol", "section"):
            command = [str(SIZEGUARD), "report", "--by", level]
            pairs = [
                measure([*command, str(given.image)])[0] - measure([*command, str(twin)])[0]
                for _ in range(given.runs)
            ]
            more = statistics.median(pairs)
            print(f"  by {level}: {more:+.2f} s with debug information, at most {MORE}")
            tally.check(more <= MORE, f"by {level}: {more:+.2f} s")
    command = [str(SIZEGUARD), "report", "--by", "operator,dtype", str(given.image)]
    runs = [measure(command) for _ in range(given.runs)]
    seconds, peak = statistics.median(run[0] for run in runs), max(run[1] for run in runs)
    most = SECONDS * max(1.0, given.image.stat().st_size / SIZE)
    print(f"  by operator,dtype: {seconds:.2f} s, at most {most:.2f}; {peak} MiB")
    tally.check(seconds <= most, f"by operator,dtype: {seconds:.2f} s")
    tally.check(peak <= MEMORY or given.image.stat().st_size > SIZE, f"{peak} MiB")
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
