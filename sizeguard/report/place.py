"""Turns texts such as sizeguard.yaml:14:7 into a file with a line, for what shows findings beside the source."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLACE = re.compile(r"(.+?)(?::(\d{1,7}))?(?::(\d{1,5}))?")


@dataclass(frozen=True, slots=True)
class Place:
    """A file in the source tree; line and column begin at 1, 0 if unknown."""

    file: str
    line: int = 0
    column: int = 0


def place_of(text: str) -> Place | None:
    """None unless it is a path inside of the tree: only such can be shown beside the source."""
    found = _PLACE.fullmatch(text)
    if not found or text.startswith(("/", "~", "commit ")) or not text.isprintable():
        return None
    file = found[1]
    if file != file.strip() or ".." in file.split("/") or "\\" in file or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", file):
        return None
    return Place(file, int(found[2] or 0), int(found[3] or 0))
