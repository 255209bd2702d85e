"""Turns a map of gold into rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sizeguard.formats.linkmap.gnu import DISCARDED, NAME, NUMBERS, REST, SYMBOL, Rows, read_discarded
from sizeguard.formats.linkmap.row import NO_INPUT, LinkMap, damaged

TITLE = "Memory map"

_LINE = re.compile("( ?)" + NAME + NUMBERS + r"(?: (.*))?")
_FILLS = frozenset({"** fill", "** zero fill"})

# On aarch64, the last section before a table of stubs is one that gold relaxes; it writes no address of such a one.
_NOWHERE = "f" * 16


def parse_gold(path: Path, lines: Sequence[str]) -> LinkMap:
    """The columns are GNU ld's. `** name` is what gold itself puts there; `** fill` in a section of objects is padding."""
    rows = Rows(path)
    start = lines.index(TITLE)
    if DISCARDED in lines[:start]:
        read_discarded(rows, lines, lines.index(DISCARDED) + 1)
    pending = ""
    fills: list[tuple[str, int, int]] = []
    has_objects = False
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if not line:
            continue
        if pending:
            rest = REST.fullmatch(line)
            if rest is None:
                raise damaged(path, number, f"no address and size after {pending.strip()[:60]}")
            indent, name, address, size, file = pending[0] == " ", pending.strip(), rest[1], rest[2], rest[3]
            pending = ""
        else:
            symbol = SYMBOL.fullmatch(line)
            if symbol:
                rows.symbol(rows.number(symbol[1], number), 0, symbol[2])
                continue
            found = _LINE.fullmatch(line)
            if found is None:
                if line.startswith("  "):
                    raise damaged(path, number, f"neither a section nor a symbol: {line.strip()[:60]}")
                pending = line
                continue
            indent, name, address, size, file = bool(found[1]), found[2], found[3], found[4], found[5]
        if address == _NOWHERE and indent:
            rows.last = NO_INPUT
            continue
        where, length = rows.number(address, number), rows.number(size, number)
        if not indent:
            _data(rows, fills, has_objects)
            fills, has_objects = [], False
            rows.begin(name, where, length)
        elif name in _FILLS:
            fills.append((name, where, length))
        elif rows.output:
            has_objects = has_objects or file is not None
            rows.place(name, file or "", where, length, file is None)
    if pending:
        raise damaged(path, len(lines), f"no address and size after {pending.strip()[:60]}")
    _data(rows, fills, has_objects)
    return rows.finish("gold")


def _data(rows: Rows, fills: Sequence[tuple[str, int, int]], has_objects: bool) -> None:
    """The interpreter's name, notes: gold calls its own constant data a fill, too."""
    if not has_objects:
        for name, where, length in fills:
            rows.place(name, "", where, length, True)
