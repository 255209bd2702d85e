"""Pieces of mergeable sections: strings and constants that a linker merges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.elf import SHF_MERGE, SHF_STRINGS, SHF_WRITE, STT_SECTION
from sizeguard.linkgraph.elf.object_columns import RelocationColumns, Sections, SymbolColumns
from sizeguard.linkgraph.inputs.loaded import Loaded


@dataclass(frozen=True, slots=True)
class MergeablePiece:
    """A content, its first place, and its text (hexadecimal for a constant)."""

    section: int
    offset: int
    size: int
    align: int
    text: str
    is_text: bool


@dataclass(frozen=True, slots=True, eq=False)
class MergeablePieces:
    """Pieces of mergeable sections.

    contents: one for each distinct content
    content:  by relocation, index of the content that it refers to; -1 if there is none
    whole:    pairs of a section row and a content in it
    sections: rows that are cut into pieces
    is_entry: by relocation, whether a table entry contains it; the graph's builder sets it
    """

    contents: tuple[MergeablePiece, ...]
    content: Int
    whole: Int
    sections: Int
    is_entry: npt.NDArray[np.bool_]


def find_pieces(
    loaded: Loaded,
    sections: Sections,
    relocations: RelocationColumns,
    symbols: SymbolColumns,
    target: Int,
) -> MergeablePieces:
    """Cut all mergeable sections into pieces, and find the piece that each relocation refers to.

    As in linkers, a relocation against a section symbol refers to section + addend, one against any
    other symbol to that symbol's piece.
    """
    mergeable = _mergeable(sections, relocations)
    cutter = _Cutter(loaded, sections)
    for row in np.flatnonzero(mergeable).tolist():
        cutter.cut(row)
    content = np.full(len(target), -1, np.int64)
    chosen = np.flatnonzero((target >= 0) & mergeable[np.maximum(target, 0)])
    symbol = relocations.symbol[chosen]
    addend = np.where(symbols.type[symbol] == STT_SECTION, relocations.addend[chosen], 0)
    places = symbols.value[symbol] + addend
    content[chosen] = [
        cutter.content_at(row, offset)
        for row, offset in zip(target[chosen].tolist(), places.tolist(), strict=True)
    ]
    return MergeablePieces(
        contents=tuple(cutter.pieces),
        content=content,
        whole=np.array(cutter.whole, np.int64).reshape(-1, 2),
        sections=np.flatnonzero(mergeable),
        is_entry=np.zeros(len(target), bool),
    )


def _mergeable(sections: Sections, relocations: RelocationColumns) -> npt.NDArray[np.bool_]:
    """Return which sections to cut into pieces: unrelocated, with whole constants or strings."""
    flags = sections.flags
    is_merged = sections.is_input & (flags & SHF_MERGE != 0) & (flags & SHF_WRITE == 0)
    is_filled = (sections.size > 0) & (sections.entry_size > 0)
    is_whole = sections.size % np.maximum(sections.entry_size, 1) == 0
    is_relocated = np.zeros(len(flags), bool)
    is_relocated[relocations.section] = True
    return np.asarray(is_merged & is_filled & is_whole & ~is_relocated)


def merged_ends(
    sections: Sections, contents: Sequence[MergeablePiece]
) -> tuple[list[int], list[int]]:
    """Find the strings that end another string, as pairs of the longer and the shorter content.

    Each string is stored at the end of at most one other string: the next in the order of reversed
    texts, as in GNU ld.
    """
    groups: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for i, piece in enumerate(contents):
        if piece.is_text:
            output = sections.names[piece.section][1:].partition(".")[0]
            groups.setdefault((output, piece.align), []).append((piece.text[::-1], i))
    longer: list[int] = []
    shorter: list[int] = []
    for group in groups.values():
        for (end, i), (text, k) in pairwise(sorted(group)):
            if text.startswith(end):
                longer.append(k)
                shorter.append(i)
    return longer, shorter


@dataclass(slots=True, eq=False)
class _Cutter:
    """Pieces of the sections that were cut so far.

    numbers: key of a content → its index in `pieces`
    starts:  row → offsets of its pieces, and their contents
    """

    loaded: Loaded
    sections: Sections
    pieces: list[MergeablePiece] = field(default_factory=list)
    numbers: dict[tuple[bool, int, int, bytes], int] = field(default_factory=dict)
    whole: list[tuple[int, int]] = field(default_factory=list)
    starts: dict[int, tuple[Int, list[int]]] = field(default_factory=dict)

    def cut(self, row: int) -> None:
        found = self.loaded.objects[int(self.sections.object[row])]
        content = found.elf.content(found.elf.sections[int(self.sections.index[row])])
        width, align = int(self.sections.entry_size[row]), int(self.sections.align[row])
        is_text = bool(self.sections.flags[row] & SHF_STRINGS)
        bounds = _bounds(content, width, is_text)
        contents = []
        for start, end in pairwise(bounds):
            # Only sections with the same alignment are merged.
            key = (is_text, width, align, content[start:end])
            number = self.numbers.setdefault(key, len(self.pieces))
            if number == len(self.pieces):
                is_plain = is_text and width == 1
                text = _text(content[start : end - width]) if is_plain else content[start:end].hex()
                self.pieces.append(MergeablePiece(row, start, end - start, align, text, is_plain))
            contents.append(number)
        self.whole += [(row, number) for number in contents]
        self.starts[row] = (np.array(bounds[:-1], np.int64), contents)

    def content_at(self, row: int, offset: int) -> int:
        """Return the content at an offset of a cut section; -1 before the first."""
        starts, contents = self.starts[row]
        k = int(np.searchsorted(starts, offset, side="right")) - 1
        return contents[k] if k >= 0 else -1


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _bounds(content: bytes, width: int, is_text: bool) -> list[int]:
    if not is_text:
        return list(range(0, len(content) + 1, width))
    units = np.frombuffer(content, np.uint8).reshape(-1, width)
    ends = (np.flatnonzero(~units.any(axis=1)) + 1) * width
    bounds = [0, *ends.tolist()]
    if bounds[-1] != len(content):
        bounds.append(len(content))
    return bounds
