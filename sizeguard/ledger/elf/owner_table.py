"""Collect pieces of sections from analyzers, as columns, in one table of owners.

An analyzer cuts the sections that it knows into pieces; a piece is a row of the ledger's owners.
All sections are placed one after the other on a line, so every byte has a unique place. Addresses
and file offsets can overlap, such as those of .tbss and its successor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int, Int32
from sizeguard.formats.elf import Elf, Section, signed
from sizeguard.ledger.ledger import NONE
from sizeguard.ledger.partition import NOBODY, strongest

Column = int | npt.NDArray[np.signedinteger]
T = TypeVar("T", bound=np.signedinteger)

_CODE = compiled_beside(__file__)

COLUMNS = ("start", "kind", "analyzer", "symbol", "group", "input", "part")


@dataclass(frozen=True, slots=True)
class Line:
    """Places of an image's sections.

    Section i is on the line at [at[i], at[i] + size[i]), in memory from address[i]. Sections of a
    relocatable object have no address; the place on the line is used instead.
    """

    at: Int
    size: Int
    address: Int

    @staticmethod
    def of(image: Elf) -> Line:
        """Place the sections of an image one after the other."""
        size = np.array([section.size for section in image.sections], np.int64)
        at = np.cumsum(size) - size
        if image.is_relocatable:
            return Line(at, size, at)
        return Line(
            at, size, np.array([signed(section.address) for section in image.sections], np.int64)
        )

    @property
    def place(self) -> type[np.signedinteger]:
        """The smallest integer type for all places."""
        return np.int32 if int(self.size.sum()) < 1 << 31 else np.int64


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces as columns; the pieces of a section are adjacent, in order, and cover it.

    start: on the line. In the other columns an integer is the value of all pieces.
    """

    start: Int
    section: Column
    kind: Column
    analyzer: Column
    symbol: Column = NONE
    group: Column = NONE
    input: Column = NONE
    part: Column = NONE

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self.start)


@dataclass(frozen=True, slots=True)
class Places:
    """Places of the rows of sections on the line.

    rows_of: for each section its first row, and the row after its last.

    start: int32 if the line is short enough, as in most images; this saves 14 MB for 3.4 million
        rows.
    """

    line: Line
    start: Int | Int32
    rows_of: dict[int, tuple[int, int]]

    def sizes(self, index: int) -> Int:
        """Return the sizes of a section's rows; the last row ends with the section."""
        low, high = self.rows_of[index]
        return np.diff(self.start[low:high], append=self.line.at[index] + self.line.size[index])


@dataclass(slots=True)
class Book:
    """Pieces that analyzers have added so far.

    loaded_only: whether a section that is not loaded is one piece. 1,004,639 of the 3,431,821
        pieces of libtorch_cpu.so are symbols' entries and names in .symtab and .strtab.
    rows_of: for each cut section, its first row and the row after its last.
    """

    line: Line
    loaded_only: bool = False
    rows_of: dict[int, tuple[int, int]] = field(default_factory=dict)
    count: int = 0
    lengths: list[int] = field(default_factory=list)
    parts: dict[str, list[Column]] = field(default_factory=lambda: {name: [] for name in COLUMNS})

    def add(self, pieces: Pieces) -> None:
        """Add pieces of one section or several."""
        if isinstance(pieces.section, int):
            self.rows_of[pieces.section] = (self.count, self.count + len(pieces))
        else:
            first = np.flatnonzero(np.diff(pieces.section, prepend=-1))
            bounds = [*first.tolist(), len(pieces)]
            for index, low, high in zip(
                pieces.section[first].tolist(), bounds[:-1], bounds[1:], strict=True
            ):
                self.rows_of[index] = (self.count + low, self.count + high)
        for name in COLUMNS:
            self.parts[name].append(
                getattr(pieces, name) if name != "start" else pieces.start.astype(self.line.place)
            )
        self.lengths.append(len(pieces))
        self.count += len(pieces)

    def add_new(self, pieces: Iterable[Pieces]) -> None:
        """Add pieces, each item for one section, unless an earlier analyzer has cut it."""
        for some in pieces:
            if some.section not in self.rows_of:
                self.add(some)

    def places(self) -> Places:
        """Return the places of all rows; call it after all sections are cut."""
        return Places(self.line, self.column("start", np.zeros(0, self.line.place)), self.rows_of)

    def column(self, name: str, more: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return a column of all pieces, followed by `more`, and remove it from the book.

        A column that contains only NONE takes no memory.
        """
        parts = self.parts.pop(name)
        if all(isinstance(part, int) and part == NONE for part in parts) and (more == NONE).all():
            return np.broadcast_to(more.dtype.type(NONE), (self.count + len(more),))
        column = np.empty(self.count + len(more), more.dtype)
        at = 0
        for i, length in enumerate(self.lengths):
            column[at : at + length] = parts[i]
            parts[i] = NONE
            at += length
        column[at:] = more
        return column

    def values(self, name: str, rows: Int) -> npt.NDArray[np.signedinteger]:
        """Return a column's values for some pieces, ascending; the column stays in the book."""
        found: list[npt.NDArray[np.signedinteger]] = [np.zeros(0, np.int32)]
        first = 0
        for part, length in zip(self.parts[name], self.lengths, strict=True):
            low, high = np.searchsorted(rows, (first, first + length))
            some = rows[low:high] - first
            found.append(np.full(len(some), part) if isinstance(part, int) else part[some])
            first += length
        return np.concatenate(found)

    def sections_of(self, rows: Int) -> Int:
        """Return the section of some pieces, ascending."""
        runs = sorted((low, high, index) for index, (low, high) in self.rows_of.items())
        counts = [int(np.diff(np.searchsorted(rows, run[:2]))[0]) for run in runs]
        return np.repeat(np.array([index for _, _, index in runs], np.int64), counts)

    def of_section(self, index: int) -> tuple[int, slice]:
        """Return which of the added pieces contain a section, and its slice of them."""
        first, last = self.rows_of[index]
        at = 0
        for number, length in enumerate(self.lengths):
            if first < at + length:
                return number, slice(first - at, last - at)
            at += length
        raise KeyError(index)


@dataclass(frozen=True, slots=True)
class Holders:
    """The rows so far by address, to find the row that contains an address of the image.

    address, size, at: of sections in order of address, and their places on the line
    first: of each section, its first row; then the number of rows
    start: of each row on the line
    """

    address: Int
    size: Int
    at: Int
    first: Int
    start: npt.NDArray[np.signedinteger]
    symbol: Int32
    group: Int32
    input: Int32 | None
    part: Int32 | None

    @staticmethod
    def of(book: Book, image: Elf) -> Holders:
        """Collect the rows of all loaded sections cut so far.

        Thread-local NOBITS sections are left out, since they take no memory of the image.
        """
        kept = np.array(_apart(book, image), np.int64)
        found = [book.of_section(i) for i in kept.tolist()]

        def of_rows(name: str, kind: type[np.signedinteger]) -> npt.NDArray[np.signedinteger]:
            columns = [_rows_of(book.parts[name][number], rows) for number, rows in found]
            return np.concatenate([np.zeros(0, kind), *columns]).astype(kind, copy=False)

        def if_any(name: str) -> Int32 | None:
            is_known = any(not isinstance(book.parts[name][number], int) for number, _ in found)
            return of_rows(name, np.int32) if is_known else None

        line = book.line
        return Holders(
            line.address[kept],
            line.size[kept],
            line.at[kept],
            np.cumsum([0, *(rows.stop - rows.start for _, rows in found)]),
            of_rows("start", line.place),
            of_rows("symbol", np.int32),
            of_rows("group", np.int32),
            if_any("input"),
            if_any("part"),
        )

    def rows_at(self, addresses: Int) -> Int:
        """Return the index of the row that contains each address; NONE if there is none."""
        addresses = np.ascontiguousarray(addresses, np.int64)
        found = np.empty(len(addresses), np.int64)
        sections = (self.address, self.size, self.at, self.first, len(self.address))
        is_wide = self.start.dtype == np.int64
        _CODE.call("rows_at", addresses, len(addresses), *sections, self.start, is_wide, found)
        return found

    def columns(self, found: Int) -> dict[str, Int32 | int]:
        """Return symbol, group, input and part of the found rows, as arguments of Pieces."""

        def of(column: Int32 | None) -> Int32 | int:
            if column is None or not len(self.start):
                return NONE
            held = np.empty(len(found), np.int32)
            _CODE.call("take_known", column, found, len(found), held)
            return held

        return {
            "symbol": of(self.symbol),
            "group": of(self.group),
            "input": of(self.input),
            "part": of(self.part),
        }


def _rows_of(column: Column, rows: slice) -> npt.NDArray[np.signedinteger]:
    """Return some rows of a column as an array."""
    return (
        np.full(rows.stop - rows.start, column, np.int32)
        if isinstance(column, int)
        else column[rows]
    )


def _apart(book: Book, image: Elf) -> list[int]:
    """Return the cut sections that have addresses, without those that overlap an earlier one."""
    spans = sorted((int(book.line.address[i]), i) for i in book.rows_of if _has_address(image, i))
    reached = -(1 << 63)
    kept = []
    for address, i in spans:
        if address >= reached:
            kept.append(i)
            reached = address + image.sections[i].size
    return kept


def _has_address(image: Elf, index: int) -> bool:
    """Check that a section takes memory of the image when loaded."""
    section = image.sections[index]
    return section.is_allocated and not (section.is_nobits and section.is_thread_local)


def cover(low: int, high: int, start: Int, end: Int) -> tuple[Int, Int]:
    """Cut [low, high) into ranges and the gaps between them.

    start, end: the ranges, sorted, disjoint and inside [low, high).

    Returns the starts of all pieces, and the index of each piece's range, NONE for a gap.
    """
    edges, which = np.empty(2 * len(start) + 1, np.int64), np.empty(2 * len(start) + 1, np.int64)
    count = _CODE.call("cover", low, high, start, end, len(start), edges, which)
    return edges[:count], which[:count]


class DisjointPieces(NamedTuple):
    """Pieces of ranges. which: the range of each piece."""

    start: Int
    end: Int
    which: Int


def disjoint(start: Int, end: Int, weakness: Callable[[], Sequence[Int]]) -> DisjointPieces:
    """Cut ranges so that none overlap; in an overlap, the range with the least weakness wins.

    start must be sorted. weakness returns columns; the first one counts most. It is called only if
    ranges overlap, which nearly all symbols of an image do not.
    """
    reached = np.maximum.accumulate(end)[:-1] if len(end) else end
    overlaps = np.flatnonzero(reached > start[1:])
    if not len(overlaps):
        return DisjointPieces(start, end, np.arange(len(start)))
    is_apart = np.ones(len(start), np.bool_)
    is_apart[overlaps] = is_apart[overlaps + 1] = False
    alone, others = np.flatnonzero(is_apart), np.flatnonzero(~is_apart)
    cut = _cut(start[others], end[others], [column[others] for column in weakness()])
    starts = np.concatenate([start[alone], cut.start])
    ends = np.concatenate([end[alone], cut.end])
    which = np.concatenate([alone, others[cut.which]])
    order = np.argsort(starts, kind="stable")
    return DisjointPieces(starts[order], ends[order], which[order])


def _cut(start: Int, end: Int, weakness: Sequence[Int]) -> DisjointPieces:
    """Cut ranges as disjoint does, without a fast path for ranges that do not overlap."""
    order = np.lexsort((start, *reversed(weakness)))
    edges = distinct(np.concatenate([start, end]))
    low, high = np.searchsorted(edges, start[order]), np.searchsorted(edges, end[order])
    best = strongest(low, high, len(edges) - 1)
    best = np.where(best == NOBODY, NONE, order[np.minimum(best, len(order) - 1)])
    first = np.flatnonzero(np.diff(best, prepend=-2))
    stop = np.append(edges[first[1:]], edges[-1])
    taken = best[first] >= 0
    return DisjointPieces(edges[first][taken], stop[taken], best[first][taken])


def pieces_of(section: Section, line: Line, kind: int, analyzer: int) -> Pieces:
    """Make one piece of a section."""
    at, size = int(line.at[section.index]), section.size
    here = np.array([at] if size else [], np.int64)
    return Pieces(here, section.index, kind, analyzer)
