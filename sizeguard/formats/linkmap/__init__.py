"""Turns a linker map, whichever linker wrote it, into what the linker placed and what it left out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.errors import InputError

if TYPE_CHECKING:
    from sizeguard.formats.linkmap.row import InputSection, LinkMap


def read_link_map(path: Path) -> LinkMap:
    """A map of GNU ld, gold, lld, mold, Apple's ld or ld64.lld; its first lines tell which.

    Raises InputError, with the line, for a file that is none or is damaged.
    """
    # Only here: their grammars take 15 ms to compile, and few images come with a map.
    from sizeguard.formats.linkmap import apple, gnu, gold, lld, mold
    from sizeguard.formats.linkmap.row import lines_of

    lines = lines_of(path)
    head = lines[0] if lines else ""
    if lld.HEADER.fullmatch(head):
        return lld.parse_lld(path, lines)
    if mold.HEADER.fullmatch(head):
        return mold.parse_mold(path, lines)
    if head.startswith(apple.TITLE):
        return apple.parse_apple(path, lines)
    if gnu.TITLE in lines:
        return gnu.parse_gnu(path, lines)
    if gold.TITLE in lines:
        return gold.parse_gold(path, lines)
    raise InputError(f"{path}: not a linker map of GNU ld, gold, lld, mold or ld64")


def read_map(path: Path) -> tuple[InputSection, ...]:
    """The placed input sections alone, in the map's order."""
    return read_link_map(path).placed
