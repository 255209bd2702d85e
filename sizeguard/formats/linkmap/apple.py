"""Read maps of Apple's ld and of ld64.lld."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from sizeguard.formats.linkmap.gnu import GnuMapRows
from sizeguard.formats.linkmap.link_map import (
    NO_INPUT,
    Discarded,
    InputSection,
    LinkMap,
    MapSymbol,
    OutputSection,
    damaged,
)

TITLE = "# Path: "
_DEAD = "Dead Stripped Symbols"

_OBJECT = re.compile(r"\[ *(\d{1,9})\] (.+)")
_SECTION = re.compile(r"0x([0-9A-Fa-f]{1,16})\t0x([0-9A-Fa-f]{1,16})\t([^\t]*)\t(.*)")
_SYMBOL = re.compile(
    r"(?:0x([0-9A-Fa-f]{1,16})|<<dead>>)\s+(?:0x([0-9A-Fa-f]{1,16})\t)?\[ *(\d{1,9})\] (.*)"
)
# lld 14 lists labels of sections that it omitted, such as __compact_unwind, at this address.
_LEFT_OUT = 0xF000000000000000
_LITERAL = "literal string: "


def parse_apple(path: Path, lines: Sequence[str]) -> LinkMap:
    """Read a map. It has no input sections: a symbol's row names the object of a range.

    lld 14 does not write sizes: there, a range ends where the next one begins. If several symbols
    share an address, the first one names the range; folded symbols and aliases have size 0.
    """
    rows = GnuMapRows(path)
    objects: dict[int, str] = {}
    part = ""
    files: list[str] = []
    previous = ""
    for number, line in enumerate(lines, 1):
        if line.startswith("# ") and line.endswith(":"):
            part = line[2:-1]
        elif part == "Object files" and line[:1] == "[":
            found = _OBJECT.fullmatch(line)
            if found is None:
                raise damaged(path, number, "not a row of an object file")
            objects[int(found[1])] = found[2]
        elif part == "Sections" and line[:1] == "0":
            _begin_section(rows, number, line)
        elif part in ("Symbols", _DEAD) and line and line[0] != "#":
            found = _SYMBOL.fullmatch(line)
            if found is None and previous.startswith(_LITERAL):
                continue  # a string with a line feed in it
            if found is None or (found[1] is None) != (part == _DEAD):
                raise damaged(path, number, f"not a row of a symbol: {line[:60]}")
            previous = found[4]
            _add_symbol(rows, objects, files, found, number)
        elif line and line[0] != "#":
            raise damaged(path, number, f"a row without a section title: {line[:60]}")
    if part not in ("Symbols", _DEAD):
        raise damaged(path, len(lines), "the file ends before its symbols")
    _place(rows, files)
    return rows.finish("ld64")


def _begin_section(rows: GnuMapRows, number: int, line: str) -> None:
    """Begin the section of the row."""
    found = _SECTION.fullmatch(line)
    if found is None:
        raise damaged(rows.path, number, "not a row of a section")
    address, size = rows.number(found[1], number), rows.number(found[2], number)
    rows.begin(f"{found[3]},{found[4]}", address, size)


def _add_symbol(
    rows: GnuMapRows, objects: dict[int, str], files: list[str], found: re.Match[str], number: int
) -> None:
    """Add a symbol, and its file to `files`; a dead symbol is added to the discarded ones."""
    index, name = int(found[3]), found[4]
    if index not in objects:
        raise damaged(rows.path, number, f"an object file {index} that is not listed")
    size = rows.number(found[2] or "0", number)
    file = "" if index == 0 else objects[index]
    if found[1] is None:
        rows.discarded.append(Discarded(name, file, size))
    elif int(found[1], 16) != _LEFT_OUT:
        rows.symbol(rows.number(found[1], number), size, name)
        files.append(file)


def _place(rows: GnuMapRows, files: Sequence[str]) -> None:
    """Make a row of each range between different addresses, with its symbols."""
    symbols = rows.symbols
    order = sorted(range(len(symbols)), key=lambda i: symbols[i].address)
    outputs = sorted(
        (output for output in rows.outputs if output.size), key=lambda output: output.address
    )
    starts = [output.address for output in outputs]
    rows.symbols = []
    first = 0
    while first < len(order):
        address = symbols[order[first]].address
        last = first
        while last < len(order) and symbols[order[last]].address == address:
            last += 1
        group = order[first:last]
        where = bisect_right(starts, address) - 1
        output = outputs[where] if where >= 0 else OutputSection("", 0, 0)
        end = output.address + output.size
        following = symbols[order[last]].address if last < len(order) else end
        stated = max(symbols[i].size for i in group)
        size = min(address + stated if stated else following, end) - address
        rows.last = NO_INPUT
        if size > 0:
            # The symbol with the size names the range, else the first one; lld 14 lists ltmp0 last.
            named = next((i for i in group if symbols[i].size), group[0])
            rows.last = len(rows.placed)
            is_merged = files[named] == "" or symbols[named].name.startswith(_LITERAL)
            rows.placed.append(
                InputSection(
                    output.name, symbols[named].name, files[named], address, size, is_merged
                )
            )
        rows.symbols += [
            MapSymbol(address, symbols[i].size, symbols[i].name, rows.last) for i in group
        ]
        first = last
