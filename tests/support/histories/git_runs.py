"""Git commands in the repositories that tests make, always by the same author."""

from __future__ import annotations

import subprocess
from pathlib import Path

AUTHOR = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder; return its output without the last end of a line."""
    command = ["git", "-C", str(folder), *AUTHOR, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
