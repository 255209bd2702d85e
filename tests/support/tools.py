"""Run programs of the toolchain for their output."""

from __future__ import annotations

import subprocess
from pathlib import Path


def tool(*command: str | Path) -> str:
    """Return what a command prints. Raises CalledProcessError if it fails."""
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True
    ).stdout
