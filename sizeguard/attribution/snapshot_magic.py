"""Turns the first bytes of a file into whether it is a snapshot: what else snapshots need is imported for them alone."""

from __future__ import annotations

from pathlib import Path

MAGIC = b"sizeguard snapshot\n"


def is_snapshot(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
