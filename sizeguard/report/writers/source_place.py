"""Parse places such as sizeguard.yaml:14:7, for formats that show findings beside the source."""

from __future__ import annotations

import re

from sizeguard.base.dataclass import dataclass

_PLACE = re.compile(r"(.+?)(?::(\d{1,7}))?(?::(\d{1,5}))?")


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A place in a file of the source tree; line and column begin at 1, 0 if unknown."""

    file: str
    line: int = 0
    column: int = 0


def place_of(text: str) -> SourcePlace | None:
    """Parse a place; None unless it is a path inside the tree.

    Formats can show only such places beside the source.
    """
    found = _PLACE.fullmatch(text)
    if not found or text.startswith(("/", "~", "commit ")) or not text.isprintable():
        return None
    file = found[1]
    if (
        file != file.strip()
        or ".." in file.split("/")
        or "\\" in file
        or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", file)
    ):
        return None
    return SourcePlace(file, int(found[2] or 0), int(found[3] or 0))
