"""Run Python programs with the package of this tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.places import ROOT

VERSIONS = ("3.11", "3.12", "3.13")  # that the package supports


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


def sizeguard(cwd: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "sizeguard", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
