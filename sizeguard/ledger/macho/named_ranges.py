"""Ranges of addresses with a name and a size, from symbols, STABs, function starts and the map.

Mach-O symbols have no size. A STAB pair or the map states the size of the piece that the linker
placed: the function with padding behind it. Otherwise the next symbol, the next function or the end
of the section bounds it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.linkedit import function_starts
from sizeguard.ledger.macho.nops import is_padding, padding_before

STAB, MAP, NEXT, START = "stabs", "linker map", "label", "function starts"
CONFIDENCE = {STAB: 100, MAP: 100, NEXT: 90, START: 50}

# Labels that assemblers make, and ld64.lld's names for things that are no symbols: "literal string:
# …", "CIE", "compact unwind info".
_TEMPORARY = re.compile(rb"ltmp\d+|[lL]\.?(str|tmp|constpool|_\.str).*")
_MOST_PADDING = 64  # the widest alignment of functions
_SLOTS = frozenset(
    {c.S_CSTRING_LITERALS, c.S_SYMBOL_STUBS, c.S_NON_LAZY_SYMBOL_POINTERS, c.S_LAZY_SYMBOL_POINTERS}
)
_UNWIND = frozenset({"__unwind_info", "__eh_frame", "__compact_unwind"})


@dataclass(frozen=True, slots=True)
class NamedRange:
    """A range [address, address + size) of a section, with its names, best first.

    names is empty if only the start is known.

    padding: bytes behind it that fill up to the alignment of the next range
    source:  STAB, MAP, NEXT or START
    """

    address: int
    size: int
    padding: int
    section: int
    names: tuple[bytes, ...]
    source: str


@dataclass(frozen=True, slots=True)
class NamedRanges:
    """Ranges in order of address, without overlaps, and their starts."""

    rows: tuple[NamedRange, ...]
    starts: tuple[int, ...]

    def at(self, address: int) -> NamedRange | None:
        """Return the range that holds the address."""
        i = bisect_right(self.starts, address) - 1
        return (
            self.rows[i] if i >= 0 and address < self.rows[i].address + self.rows[i].size else None
        )


@dataclass(frozen=True, slots=True)
class Stabs:
    """Facts that STABs state of functions, by address.

    sizes: in bytes; objects: the path of the object, from N_OSO.
    """

    sizes: dict[int, int]
    objects: dict[int, str]


def stabs(names: MachO) -> Stabs:
    """Read the STABs of functions.

    A function is N_FUN with its name and address, later N_FUN without a name and with its size.
    N_OSO stands before the functions of its object.
    """
    sizes: dict[int, int] = {}
    objects: dict[int, str] = {}
    table = names.symbols
    rows = np.flatnonzero(np.isin(table.type, (c.N_FUN, c.N_OSO)))
    current, address = "", -1
    for i in rows.tolist():
        if table.type[i] == c.N_OSO:
            current = table.names[i]
        elif table.section[i]:
            address = int(table.value[i])
            if current:
                objects[address] = current
        elif address >= 0:
            sizes[address] = int(table.value[i])
            address = -1
    return Stabs(sizes, objects)


def named_ranges(image: MachO, names: MachO, inputs: Sequence[InputSection]) -> NamedRanges:
    """Find the ranges of all sections but those cut into slots, strings and unwind entries.

    A dSYM has none: its sections are empty.

    names: the image itself or the same build with symbols; inputs: rows of its linker map, whose
    names are symbols.
    """
    if image.filetype == c.MH_DSYM:
        return NamedRanges((), ())
    known = _Known(
        _symbols(names),
        stabs(names).sizes,
        {row.address: row for row in inputs if row.size > 0},
    )
    starts = function_starts(image).tolist()
    addresses = np.sort(
        np.fromiter({*known.symbols, *known.pieces, *known.sizes, *starts}, np.int64)
    )
    rows: list[NamedRange] = []
    for section in sorted(image.sections, key=lambda s: s.address):
        if (
            not section.size
            or section.type in _SLOTS
            or section.name in _UNWIND
            or section.segment_name == "__DWARF"
        ):
            continue
        low, high = np.searchsorted(addresses, [section.address, section.address + section.size])
        here = [
            a
            for a in addresses[low:high].tolist()
            if section.is_code or a in known.symbols or a in known.pieces
        ]
        for address, after in zip(
            here, [*here[1:], section.address + section.size], strict=bool(here)
        ):
            rows.append(_range(image, section, address, after, known))
    return NamedRanges(tuple(rows), tuple(row.address for row in rows))


@dataclass(frozen=True, slots=True)
class _Known:
    """Facts by address: symbols, the size that STABs state, the row of the map."""

    symbols: dict[int, tuple[bytes, ...]]
    sizes: dict[int, int]
    pieces: dict[int, InputSection]


def _range(image: MachO, section: Section, address: int, after: int, known: _Known) -> NamedRange:
    """Make the range at `address`; the next begins at `after`."""
    piece = known.pieces.get(address)
    names = known.symbols.get(address) or (_symbol_of(piece) if piece is not None else ())
    room = after - address
    # STABs and the map state the size of the piece that the linker placed. Both count padding to
    # the function before it.
    stated = known.sizes.get(address, 0) if section.is_code else 0
    size = min(stated or (piece.size if piece is not None else room), room)
    if section.is_code and section.file_size:
        start = section.offset + address - section.address
        tail = image.data[max(start, start + size - _MOST_PADDING) : start + size].tobytes()
        size -= min(padding_before(tail, image.cpu), size - 1)
        # The rest may also be data without a name.
        rest = image.data[start + size : start + room].tobytes()
        fills_up = len(rest) < _MOST_PADDING and is_padding(rest, image.cpu)
    else:
        fills_up = piece is not None
    source = STAB if stated else MAP if piece is not None else NEXT if names else START
    return NamedRange(address, size, room - size if fills_up else 0, section.index, names, source)


def _symbols(names: MachO) -> dict[int, tuple[bytes, ...]]:
    """Return names by address, for all symbols defined in sections.

    Exported names come first. Names that assemblers made are used only if there is no other.
    """
    table = names.symbols
    kinds = table.type
    defined = np.flatnonzero(((kinds & c.N_STAB) == 0) & ((kinds & c.N_TYPE) == c.N_SECT))
    local = (kinds[defined] & c.N_EXT) == 0
    found: dict[int, list[bytes]] = {}
    all_names, values = table.raw_names(), table.value.tolist()
    for i in defined[np.argsort(local, kind="stable")].tolist():
        found.setdefault(values[i], []).append(all_names[i])
    result = {}
    for address, texts in found.items():
        lasting = [
            text
            for text in dict.fromkeys(texts)
            if text and not (text[:1] in b"lL" and _TEMPORARY.fullmatch(text))
        ]
        result[address] = tuple(lasting or [text for text in texts if text][:1])
    return result


def _symbol_of(piece: InputSection) -> tuple[bytes, ...]:
    """Return the symbol that a row of the map names, if it names one."""
    return (
        (piece.name.encode("utf-8", "backslashreplace"),)
        if piece.name and " " not in piece.name
        else ()
    )
