"""Read maps of gold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.linkmap.gnu import (
    DISCARDED,
    NAME,
    NUMBERS,
    REST,
    SYMBOL,
    GnuMapRows,
    read_discarded,
)
from sizeguard.formats.linkmap.link_map import NO_INPUT, LinkMap, damaged

TITLE = "Memory map"

_LINE = re.compile("( ?)" + NAME + NUMBERS + r"(?: (.*))?")
_FILLS = frozenset({"** fill", "** zero fill"})

# On aarch64 gold relaxes the last section before a table of stubs, and does not write its address.
# The section of a function begins with its symbol, whose address follows.
_NOWHERE = "f" * 16
_FUNCTION = ".text."


@dataclass(slots=True)
class _Section:
    """The current output section: its fills, and whether objects have rows in it."""

    fills: list[tuple[str, int, int]] = field(default_factory=list)
    has_objects: bool = False
    relaxed: tuple[str, str, int] | None = None  # a function's section: name, file, size

    def place_relaxed(self, rows: GnuMapRows, address: int) -> None:
        """Place the relaxed section at its first symbol."""
        if self.relaxed is not None:
            name, file, size = self.relaxed
            self.relaxed, self.has_objects = None, True
            rows.place(name, file, address, size, False)

    def end(self, rows: GnuMapRows) -> None:
        """Place fills in a section without objects: the interpreter's name, notes.

        gold also calls its own constant data a fill.
        """
        if not self.has_objects:
            for name, where, length in self.fills:
                rows.place(name, "", where, length, True)


def parse_gold(path: Path, lines: Sequence[str]) -> LinkMap:
    """Read a map; its columns are those of GNU ld's maps.

    `** name` is data that gold made; `** fill` in a section with objects is padding.
    """
    rows = GnuMapRows(path)
    start = lines.index(TITLE)
    if DISCARDED in lines[:start]:
        read_discarded(rows, lines, lines.index(DISCARDED) + 1)
    pending = ""
    section = _Section()
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if not line:
            continue
        if pending:
            found = REST.fullmatch(line)
            if found is None:
                raise damaged(path, number, f"no address and size after {pending.strip()[:60]}")
            section = _add(rows, section, pending, found.groups(), number)
            pending = ""
        elif symbol := SYMBOL.fullmatch(line):
            where = rows.number(symbol[1], number)
            section.place_relaxed(rows, where)
            rows.symbol(where, 0, symbol[2])
        elif found := _LINE.fullmatch(line):
            section = _add(rows, section, found[1] + found[2], found.groups()[2:], number)
        elif line.startswith("  "):
            raise damaged(path, number, f"neither a section nor a symbol: {line.strip()[:60]}")
        else:
            pending = line
    if pending:
        raise damaged(path, len(lines), f"no address and size after {pending.strip()[:60]}")
    section.end(rows)
    return rows.finish("gold")


def _add(
    rows: GnuMapRows, section: _Section, text: str, fields: Sequence[str | Any], number: int
) -> _Section:
    """Add a row; return the output section of the next row.

    text: the name, after a blank unless it begins an output section.
    fields: address and size in hex, and the file; None for data that gold made.
    """
    name, (address, size, file) = text.strip(), fields
    is_output = text[0] != " "
    section.relaxed = None
    if address == _NOWHERE and not is_output:
        rows.last = NO_INPUT
        if file is not None and name.startswith(_FUNCTION):
            section.relaxed = name, file, rows.number(size, number)
        return section
    where, length = rows.number(address, number), rows.number(size, number)
    if is_output:
        section.end(rows)
        rows.begin(name, where, length)
        return _Section()
    if name in _FILLS:
        section.fills.append((name, where, length))
    elif rows.output:
        section.has_objects = section.has_objects or file is not None
        rows.place(name, file or "", where, length, file is None)
    return section
