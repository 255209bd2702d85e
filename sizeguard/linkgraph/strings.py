"""Turns mergeable sections into their pieces: strings and constants that a linker keeps one copy of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sizeguard.formats.elf import SHF_MERGE, SHF_STRINGS, SHF_WRITE, STT_SECTION
from sizeguard.formats.texts import Int
from sizeguard.linkgraph.columns import RelocationColumns, Sections, SymbolColumns
from sizeguard.linkgraph.resolve import Loaded


@dataclass(frozen=True, slots=True)
class Piece:
    """A content, where it stands first, and its text; of a constant its bytes in hexadecimal."""

    section: int
    offset: int
    size: int
    align: int
    text: str
    is_text: bool


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Pieces of mergeable sections.

    contents: one for each different content
    content:  of each relocation the number of the content that it means, -1 if none
    whole:    pairs of a section row and a content that stands in it
    sections: rows that are cut into pieces
    is_entry: of each relocation whether a table entry holds it (set by who knows)
    """

    contents: tuple[Piece, ...]
    content: Int
    whole: Int
    sections: Int
    is_entry: npt.NDArray[np.bool_]


def find_pieces(loaded: Loaded, sections: Sections, relocations: RelocationColumns, symbols: SymbolColumns, target: Int) -> Pieces:
    """Cut all mergeable sections, and find what each relocation means.

    A relocation against a section symbol means section + addend; against any other symbol that symbol's piece: the linkers' own rule.
    """
    mergeable = sections.is_input & (sections.flags & SHF_MERGE != 0) & (sections.flags & SHF_WRITE == 0)
    mergeable &= (sections.entry_size > 0) & (sections.size % np.maximum(sections.entry_size, 1) == 0) & (sections.size > 0)
    # Constants that are relocated are not merged.
    relocated = np.zeros(len(mergeable), bool)
    relocated[relocations.section] = True
    mergeable &= ~relocated
    contents: dict[tuple[bool, int, int, bytes], int] = {}
    pieces: list[Piece] = []
    whole: list[tuple[int, int]] = []
    starts: dict[int, tuple[Int, list[int]]] = {}
    for row in np.flatnonzero(mergeable).tolist():
        found = loaded.objects[int(sections.object[row])]
        content = found.elf.content(found.elf.sections[int(sections.index[row])])
        width = int(sections.entry_size[row])
        is_text = bool(sections.flags[row] & SHF_STRINGS)
        bounds = _bounds(content, width, is_text)
        numbers = []
        for start, end in pairwise(bounds):
            # Only sections of one alignment are merged.
            key = (is_text, width, int(sections.align[row]), content[start:end])
            number = contents.setdefault(key, len(pieces))
            if number == len(pieces):
                text = (
                    content[start : end - width].decode("utf-8", "backslashreplace") if is_text and width == 1 else content[start:end].hex()
                )
                pieces.append(Piece(row, start, end - start, int(sections.align[row]), text, is_text and width == 1))
            numbers.append(number)
            whole.append((row, number))
        starts[row] = (np.array(bounds[:-1], np.int64), numbers)
    content_of = np.full(len(target), -1, np.int64)
    chosen = np.flatnonzero((target >= 0) & mergeable[np.maximum(target, 0)])
    is_section = symbols.type[relocations.symbol[chosen]] == STT_SECTION
    place = symbols.value[relocations.symbol[chosen]] + np.where(is_section, relocations.addend[chosen], 0)
    for i, row, offset in zip(chosen.tolist(), target[chosen].tolist(), place.tolist(), strict=True):
        bounds_of, numbers = starts[row]
        k = int(np.searchsorted(bounds_of, offset, side="right")) - 1
        if k >= 0:
            content_of[i] = numbers[k]
    return Pieces(
        tuple(pieces),
        content_of,
        np.array(whole, np.int64).reshape(-1, 2),
        np.flatnonzero(mergeable),
        np.zeros(len(target), bool),
    )


def _bounds(content: bytes, width: int, is_text: bool) -> list[int]:
    if not is_text:
        return list(range(0, len(content) + 1, width))
    units = np.frombuffer(content, np.uint8).reshape(-1, width)
    ends = (np.flatnonzero(~units.any(axis=1)) + 1) * width
    bounds = [0, *ends.tolist()]
    if bounds[-1] != len(content):
        bounds.append(len(content))
    return bounds
