"""Paths of the source tree and of the tests' data."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
DATA = TESTS / "data"

SIZEGUARD = Path(sys.executable).parent / "sizeguard"  # the command of this environment

# Debian's package lld-19 makes no ld.lld in a folder of PATH.
LLVM = Path("/usr/lib/llvm-19/bin")
LLD = ("-fuse-ld=lld", f"-B{LLVM}")


def files_of_tests() -> list[Path]:
    """List the files that have tests, in all folders."""
    return sorted(TESTS.rglob("test_*.py"))
