"""Select each operator alone, with what it calls, and verify the build.

    python -m tests.soak.sizes.single_operators [--target NAME] [--compiler NAME] [--draw N] [NAME…]

A kernel that calls the kernel of another operator would keep code of an operator that was not
selected, which only a selection without that operator shows. Exit code 1 if a build does not hold
its selection. A build and its verification take 5 s.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant
from sizeguard.toolchains.toolchain import find_toolchain
from tests.support.builds.single_selections import selection_text
from tests.support.places import ROOT
from tests.support.script import Tally, options_of


def check(operators: Iterable[str], target: str, compiler: str | None) -> int:
    """Build and verify a selection of each operator, all in one folder."""
    toolchain = find_toolchain(compiler, None, target)
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        selection, folder = Path(name, "selected_operators.yaml"), Path(name, "build")
        for operator in operators:
            selection.write_text(selection_text([operator]))
            build(
                ROOT,
                Variant("selective", "alone", selection, dtypes=True, optimize="s", sanitize=""),
                toolchain,
                folder,
            )
            done = subprocess.run(
                [sys.executable, "-m", "sizeguard", "verify", folder],
                check=False,
                capture_output=True,
                text=True,
                cwd=ROOT,
            )
            tally.check(done.returncode == 0, f"{operator}: {done.returncode}\n{done.stdout}")
    return tally.close(f"operators alone on {target} by {toolchain.name}")


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("names", nargs="*", help="The operators. Default: all.")
    parser.add_argument("--target", default="x86_64-linux")
    parser.add_argument("--compiler", help="Default: gcc for Linux, clang for others.")
    parser.add_argument("--draw", type=int, help="Draw so many of them.")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    names = json.loads((ROOT / "native" / "operators" / "names.json").read_text())
    operators = given.names or sorted(names["operators"])
    if given.draw is not None:
        operators = random.Random(given.seed).sample(operators, min(given.draw, len(operators)))
    usual = "gcc" if given.target.endswith("linux") else None
    return check(operators, given.target, given.compiler or usual)


if __name__ == "__main__":
    sys.exit(main())
