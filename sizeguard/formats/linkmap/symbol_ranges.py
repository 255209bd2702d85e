"""Cut a linker map into ranges of addresses, each with its symbol and input section."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sizeguard.columns.texts import Int, Texts
from sizeguard.formats.linkmap.link_map import InputSection, LinkMap, MapSymbol

# Prefixes that gcc and clang put before the name of a function or variable under
# -ffunction-sections and -fdata-sections, longest first.
_CODE = (".text.unlikely.", ".text.startup.", ".text.split.", ".text.exit.", ".text.hot.", ".text.")
_PREFIXES = (
    *_CODE,
    ".gcc_except_table.",
    ".data.rel.ro.local.",
    ".data.rel.ro.",
    ".data.rel.local.",
    ".data.rel.",
    ".rodata.",
    ".data.",
    ".bss.",
    ".tdata.",
    ".tbss.",
    ".sdata.",
    ".sbss.",
    ".srodata.",
    ".ldata.",
    ".lbss.",
    ".lrodata.",
)
_UNNAMED = re.compile(r"(?:.*\.)?(?:cst\d+|str\d+\.\d+)|\d+|local|rel|unlikely|startup|exit|hot")
_COLD = ".text.unlikely."


@dataclass(frozen=True, slots=True)
class MapRanges:
    """Ranges in order of address, without overlaps.

    Bytes between them are padding, or not listed in the map.

    start, end: int64 addresses, half open
    names:      as the map spells them; empty if only the input section is known
    input:      int64, index into LinkMap.placed
    """

    start: Int
    end: Int
    names: Texts
    input: Int


def function_of(section: str) -> str:
    """Return the symbol in the name of its section: .text._Z3foov contains _Z3foov.

    Empty if the section's name does not contain one.
    """
    for prefix in _PREFIXES:
        if section.startswith(prefix):
            name = section[len(prefix) :]
            return "" if _UNNAMED.fullmatch(name) else name
    return ""


def symbol_ranges(map_: LinkMap) -> MapRanges:
    """Cut each input section at its symbols; the first name of an address counts.

    If the map does not state its size, a symbol extends to the next one in its section. A section
    without a symbol row (GNU ld and gold list only globals) gets its name from its section name. A
    cold part in such a section gets gcc's name, X.cold. Thread-local .tbss takes no memory and is
    left out.
    """
    loaded = {output.name for output in map_.outputs if output.is_loaded} - {".tbss"}
    known = {(row.file, row.name) for row in map_.placed}
    of_row: dict[int, list[MapSymbol]] = {}
    for symbol in map_.symbols:
        if symbol.input >= 0:
            of_row.setdefault(symbol.input, []).append(symbol)
    found: list[_Range] = []
    for index in sorted(
        (i for i, row in enumerate(map_.placed) if row.output in loaded),
        key=lambda i: map_.placed[i].address,
    ):
        found += _cut(index, map_.placed[index], of_row.get(index, []), known)
    start = np.array([item.start for item in found], np.int64)
    # In GNU ld's maps, merged strings have their size before merging and overlap the next row,
    # whose place is right.
    end = np.array([item.end for item in found], np.int64)
    if len(found) > 1:
        end[:-1] = np.minimum(end[:-1], start[1:])
    keep = end > start
    names = Texts.of(item.name for item in found).take(np.flatnonzero(keep))
    return MapRanges(
        start[keep], end[keep], names, np.array([item.row for item in found], np.int64)[keep]
    )


class _Range(NamedTuple):
    """Addresses [start, end) with one name; row: number of the input section."""

    start: int
    end: int
    name: str
    row: int


def _cut(
    index: int, row: InputSection, symbols: list[MapSymbol], known: set[tuple[str, str]]
) -> list[_Range]:
    """Cut one row at its symbols.

    known: all rows as (file, name).
    """
    section = function_of(row.name) if not row.is_merged else ""
    stop = row.address + row.size
    sizes: dict[int, tuple[str, int]] = {}
    for symbol in sorted(symbols, key=lambda symbol: symbol.address):
        if row.address <= symbol.address < stop:
            name, size = sizes.get(symbol.address, (symbol.name, 0))
            sizes[symbol.address] = (name, max(size, symbol.size))
    if not sizes:
        if (
            section
            and row.name.startswith(_COLD)
            and any((row.file, prefix + section) in known for prefix in _CODE[1:])
        ):
            section += ".cold"
        return [_Range(row.address, stop, section, index)]
    found = []
    places = list(sizes)
    if places[0] > row.address:
        found.append(_Range(row.address, places[0], "", index))
    for place, following in zip(places, [*places[1:], stop], strict=True):
        name, size = sizes[place]
        end = min(place + size, following) if size else following
        found.append(_Range(place, end, name, index))
        if end < following:
            found.append(_Range(end, following, "", index))
    return found
