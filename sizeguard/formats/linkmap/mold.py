"""Read maps of mold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sizeguard.formats.linkmap.gnu import GnuMapRows
from sizeguard.formats.linkmap.link_map import LinkMap, damaged
from sizeguard.formats.linkmap.lld import INPUT_INDENT, SYMBOL_INDENT, place_input

HEADER = re.compile(r" *VMA +Size Align Out +In +Symbol")

_ROW = re.compile(r" *(?:0x)?([0-9a-f]{1,16}) +(\d{1,19}) +\d+ ( *)(.+)")
_HEADERS = frozenset({"EHDR", "PHDR", "SHDR"})


def parse_mold(path: Path, lines: Sequence[str]) -> LinkMap:
    """Read a map like lld's, with decimal sizes and without load addresses.

    Symbols have no size, and merged sections have no rows.
    """
    rows = GnuMapRows(path)
    for number, line in enumerate(lines[1:], 2):
        found = _ROW.fullmatch(line)
        if found is None:
            if line:
                raise damaged(path, number, f"not a row of a map of mold: {line.strip()[:60]}")
            continue
        address, size, indent, name = (
            rows.number(found[1], number),
            int(found[2]),
            len(found[3]),
            found[4],
        )
        if size >> 63:
            raise damaged(path, number, f"{size} is not a size of an image")
        if name == " ":
            continue  # a section's own symbol, in the debug objects of gcc's LTO
        if indent >= SYMBOL_INDENT:
            rows.symbol(address, 0, name)
        elif indent == 0:
            if name not in _HEADERS:
                rows.begin(name, address, size)
        elif indent == INPUT_INDENT:
            place_input(rows, name, address, size)
        else:
            raise damaged(path, number, f"a name {indent} columns in")
    return rows.finish("mold")
