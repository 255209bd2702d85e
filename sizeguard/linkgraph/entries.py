"""Turns tables of pairs, a text beside a function, into their entries: slices of a section that can go one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sizeguard.formats.elf import SHF_EXECINSTR, STT_SECTION
from sizeguard.formats.texts import Int
from sizeguard.linkgraph.columns import RelocationColumns, Sections, SymbolColumns
from sizeguard.linkgraph.resolve import Loaded

POINTER = 8
ABSOLUTE = {"x86_64": (1,), "aarch64": (257,)}  # R_X86_64_64, R_AARCH64_ABS64


@dataclass(frozen=True, slots=True)
class Entry:
    """Bytes [offset, offset + size) of a section: the text, the function behind it, and both relocations' rows."""

    section: int
    offset: int
    size: int
    name: str
    function: int
    relocations: tuple[int, int]


def find_entries(loaded: Loaded, sections: Sections, relocations: RelocationColumns, symbols: SymbolColumns, target: Int) -> list[Entry]:
    """All pairs in data of a pointer to a text and, in the next word, one to code."""
    r = relocations
    absolute = np.isin(r.type, ABSOLUTE.get(loaded.machine, ()))
    is_code = (sections.flags & SHF_EXECINSTR) != 0
    to_code = np.zeros(len(target), bool)
    known = target >= 0
    to_code[known] = is_code[target[known]]
    candidates = absolute & known & ~is_code[r.section]
    order = np.lexsort((r.offset, r.section))
    order = order[candidates[order]]
    first, second = order[:-1], order[1:]
    pairs = (r.section[first] == r.section[second]) & (r.offset[first] + POINTER == r.offset[second]) & ~to_code[first] & to_code[second]
    entries = []
    for i, j in zip(first[pairs].tolist(), second[pairs].tolist(), strict=True):
        name = _text(loaded, sections, symbols, int(r.symbol[i]), int(r.addend[i]), int(target[i]))
        if name:
            entries.append(Entry(int(r.section[i]), int(r.offset[i]), 2 * POINTER, name, int(target[j]), (i, j)))
    return entries


def _text(loaded: Loaded, sections: Sections, symbols: SymbolColumns, symbol: int, addend: int, row: int) -> str:
    """The printable text that a pointer points at; empty if it is none."""
    found = loaded.objects[int(sections.object[row])]
    section = found.elf.sections[int(sections.index[row])]
    offset = int(symbols.value[symbol]) + addend if symbols.type[symbol] == STT_SECTION or addend == 0 else -1
    if section.is_writable or section.is_nobits or not 0 <= offset < section.size:
        return ""
    raw = found.elf.view(section)[offset : offset + 4096].tobytes()
    text, end, _ = raw.partition(b"\0")
    if not end or not text:
        return ""
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        return ""
    return decoded if decoded.isprintable() else ""
