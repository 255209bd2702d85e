"""Run the tests of laws with many more examples than `make test`.

    python -m tests.soak.suites.laws [--examples 1000]

A test that asks for a number with drawn.at_least draws more, too; one with settings(max_examples)
keeps its number.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.places import ROOT, files_of_tests
from tests.support.script import Tally, options_of

_LAW = "@given("


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    options = parser.parse_args()
    files = [path for path in files_of_tests() if _LAW in path.read_text()]
    tally = Tally()
    for path in files:
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not native", str(path)]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, "SIZEGUARD_EXAMPLES": str(options.examples)},
            capture_output=True,
            text=True,
            check=False,
        )
        nothing_chosen = 5
        tally.check(done.returncode in (0, nothing_chosen), f"{path.name}: {done.stdout[-2000:]}")
    return tally.close(f"{options.examples:,} examples a law")


if __name__ == "__main__":
    sys.exit(main())
