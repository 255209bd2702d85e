"""Runs of a program by the runtime, and their errors of one line."""

from __future__ import annotations

import subprocess
from pathlib import Path


def run(image: Path, program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(image), "--program", str(program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def assert_one_line(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """Check that the program ended with this exit code and printed one line with these words."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr
