"""Apply each harmless refactoring of the kernels separately, build vision, and verify it.

    python -m tests.soak.verifier.refactorings [--build gcc|clang|macos] [NAME]…

None may leave a claim that fails or is undecided. Exit code 1 if one does.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.support.places import ROOT
from tests.support.refactorings.defective_runtime import Runtime
from tests.support.refactorings.refactored_runtime import REFACTORINGS

BUILDS: dict[str, dict[str, str | None]] = {
    "gcc": {"compiler": "gcc"},
    "clang": {"compiler": "clang", "optimize": "2"},
    "macos": {"compiler": None, "target": "arm64-macos"},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="gcc", choices=BUILDS)
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    chosen = [each for each in REFACTORINGS if not arguments.names or each.name in arguments.names]
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        runtime = Runtime(ROOT, Path(name), **BUILDS[arguments.build])
        native, kept = runtime.root / "native", Path(name) / "native"
        shutil.copytree(native, kept)
        for each in chosen:
            each.apply(runtime.root)
            findings = runtime.judged().findings
            wrong += bool(findings)
            print(f"{'WRONG' if findings else 'ok   '} {each.name}", *findings[:4], sep="\n      ")
            shutil.rmtree(native)
            shutil.copytree(kept, native)
    print(f"{len(chosen) - wrong} of {len(chosen)} refactorings pass")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
