"""Recognize snapshots by their first bytes, without importing the rest of the room."""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.input_files import readable, recognizable
from sizeguard.formats.magics import SNAPSHOT

MAGIC = SNAPSHOT


def is_snapshot(path: Path) -> bool:
    """Check that a file is a snapshot; False for an unreadable one."""
    try:
        with recognizable(path).open("rb") as file:
            head = file.read(len(MAGIC))
    except OSError:
        return False
    if head != MAGIC:
        return False
    readable(path)
    return True
