"""Run tests with all of their cases, where `make test` runs a few that cover the claim.

python -m tests.soak.suites.whole_products
"""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.places import ROOT, files_of_tests
from tests.support.script import Tally, options_of
from tests.support.whole_products import VARIABLE

# Tests that choose cases, themselves or by a fixture of conftest.py.
_CHOOSES = ("whole_products import", "macos_full")


def main() -> int:
    options_of(__doc__).parse_args()
    tally = Tally()
    for path in files_of_tests():
        text = path.read_text()
        if not any(each in text for each in _CHOOSES):
            continue
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", str(path)],
            cwd=ROOT,
            env={**os.environ, VARIABLE: "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        tally.check(done.returncode == 0, f"{path.name}: {done.stdout[-2000:]}")
    return tally.close("test files with all cases")


if __name__ == "__main__":
    sys.exit(main())
