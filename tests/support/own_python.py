"""Run a Python program with the package of this tree."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.support.places import ROOT


def run_python(program: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with arguments and more variables, in the root of the tree."""
    return subprocess.run(
        [sys.executable, "-P", "-c", program, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
