"""Find entries of tables that pair a text with a function, which a selection can omit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import (
    R_AARCH64_ABS64,
    R_X86_64_64,
    SHF_EXECINSTR,
    STT_SECTION,
    Section,
    Symbol,
)
from sizeguard.formats.elf.relocations import Relocations
from sizeguard.linkgraph.elf.object_columns import RelocationColumns, Sections, SymbolColumns
from sizeguard.linkgraph.inputs.loaded import Loaded

POINTER = 8
_LONGEST_TEXT = 512  # bytes of a schema to read
_LONGEST_NAME = 4096  # bytes of the text that an entry points to
ABSOLUTE = {"x86_64": (R_X86_64_64,), "aarch64": (R_AARCH64_ABS64,)}


@dataclass(frozen=True, slots=True)
class TableEntry:
    """Bytes [offset, offset + size) of a section: a pointer to a text, then one to a function.

    name:        the text
    function:    row of the function's section
    relocations: rows of both relocations
    """

    section: int
    offset: int
    size: int
    name: str
    function: int
    relocations: tuple[int, int]


def find_entries(
    loaded: Loaded,
    sections: Sections,
    relocations: RelocationColumns,
    symbols: SymbolColumns,
    target: Int,
) -> list[TableEntry]:
    """List all pairs in data of a pointer to a text and, in the next word, one to code."""
    r = relocations
    absolute = np.isin(r.type, ABSOLUTE.get(loaded.machine, ()))
    is_code = (sections.flags & SHF_EXECINSTR) != 0
    to_code = np.zeros(len(target), bool)
    known = target >= 0
    to_code[known] = is_code[target[known]]
    candidates = np.flatnonzero(absolute & known & ~is_code[r.section])
    i, j = pointer_pairs(r.section[candidates].astype(np.int64), r.offset[candidates])
    first, second = candidates[i], candidates[j]
    pairs = ~to_code[first] & to_code[second]
    entries = []
    for i, j in zip(first[pairs].tolist(), second[pairs].tolist(), strict=True):
        name = _text(loaded, sections, symbols, int(r.symbol[i]), int(r.addend[i]), int(target[i]))
        if name:
            entries.append(
                TableEntry(
                    int(r.section[i]), int(r.offset[i]), 2 * POINTER, name, int(target[j]), (i, j)
                )
            )
    return entries


def _text(
    loaded: Loaded, sections: Sections, symbols: SymbolColumns, symbol: int, addend: int, row: int
) -> str:
    """Return the printable text that a pointer points to; empty if there is none."""
    found = loaded.objects[int(sections.object[row])]
    section = found.elf.sections[int(sections.index[row])]
    offset = (
        int(symbols.value[symbol]) + addend
        if symbols.type[symbol] == STT_SECTION or addend == 0
        else -1
    )
    if section.is_writable or section.is_nobits or not 0 <= offset < section.size:
        return ""
    text = text_at(found.elf, section, offset, _LONGEST_NAME)
    if not text or len(text) == min(_LONGEST_NAME, section.size - offset):  # without an end
        return ""
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return ""
    return decoded if decoded.isprintable() else ""


class TextPair(NamedTuple):
    """Two adjacent pointers, the first one to a text. symbol: of the second pointer."""

    offset: int
    text: bytes
    symbol: int


def text_pairs(elf: Binary, symbols: Sequence[Symbol], table: Relocations) -> Iterator[TextPair]:
    """Yield the pairs of adjacent pointers in a section of an object, the first one to a text."""
    for i, j in zip(*pointer_pairs(np.zeros(len(table), np.int64), table.offset), strict=True):
        first, second = int(table.symbol[i]), int(table.symbol[j])
        if first >= len(symbols) or second >= len(symbols):
            continue
        home, start = symbols[first].section, symbols[first].address + int(table.addend[i])
        if 0 < home < len(elf.sections) and not elf.sections[home].is_executable and start >= 0:
            text = text_at(elf, elf.sections[home], start)
            if text:
                yield TextPair(int(table.offset[i]), text, second)


def pointer_pairs(section: Int, offset: Int) -> tuple[Int, Int]:
    """Return the rows of relocations, and the rows of those in the next word, sorted by place.

    If a place has several relocations, the last one counts.
    """
    place = section * (int(offset.max(initial=0)) + POINTER + 1) + offset
    order = np.argsort(place, kind="stable")
    place = place[order]
    is_last = np.append(place[1:] != place[:-1], True)[: len(place)]
    order, place = order[is_last], place[is_last]
    behind = np.minimum(np.searchsorted(place, place + POINTER), max(len(place) - 1, 0))
    is_pair = place[behind] == place + POINTER
    return order[is_pair], order[behind[is_pair]]


def text_at(elf: Binary, section: Section, start: int, longest: int = _LONGEST_TEXT) -> bytes:
    """Return the text that begins at an offset of a section, at most `longest` bytes."""
    stop = section.offset + min(start + longest, section.file_size)
    return elf.data[section.offset + start : stop].tobytes().partition(b"\0")[0]
