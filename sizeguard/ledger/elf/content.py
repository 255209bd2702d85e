"""Turns sections of code and data into pieces: by registration entries, symbols and rows of the linker map, and what lies between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from sizeguard.formats.elf import Elf, Section
from sizeguard.formats.texts import Int, Texts
from sizeguard.ledger.elf.gaps import PADDING, look_into
from sizeguard.ledger.elf.rows import COLUMNS, Line, Pieces, disjoint, sorted_unique
from sizeguard.ledger.elf.symbols import SymbolRanges
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE, Int8, Int32
from sizeguard.ledger.part import Part

if TYPE_CHECKING:
    from sizeguard.formats.linkmap.row import InputSection

T = TypeVar("T", bound=np.signedinteger)

STRING_CONFIDENCE = 80
PADDING_CONFIDENCE = 90


@dataclass(frozen=True, slots=True)
class Ranges:
    """[start, end) on the line, sorted and disjoint, each of a row of a table."""

    start: Int
    end: Int
    row: Int

    def over(self, places: Int) -> Int:
        """The row of each place, or NONE."""
        if not len(self.start):
            return np.full(len(places), NONE, np.int64)
        found = np.searchsorted(self.start, places, side="right") - 1
        inside = (found >= 0) & (places < self.end[found])
        return np.where(inside, self.row[found], NONE)


def input_ranges(image: Elf, line: Line, inputs: Sequence[InputSection]) -> Ranges:
    """Rows of the map where they lie. Rows of sections that are not loaded have addresses that mean nothing.

    Where rows overlap (GNU ld gives merged strings their size before merging) one of a single object wins, then the smaller.
    """
    by_name: dict[str, Section] = {}
    for section in image.sections:
        if section.is_allocated:
            by_name.setdefault(section.name, section)
    rows = []
    for i, row in enumerate(inputs):
        holder = by_name.get(row.output)
        if holder is not None and row.size > 0 and 0 <= row.address - holder.address < holder.size:
            at = int(line.at[holder.index])
            place = at + row.address - holder.address
            rows.append((place, min(place + row.size, at + holder.size), i, row.is_merged))
    rows.sort()
    table = np.array(rows, np.int64).reshape(-1, 4)
    start, end, which = disjoint(table[:, 0], table[:, 1], lambda: (table[:, 3], table[:, 1] - table[:, 0], table[:, 2]))
    return Ranges(start, end, table[which, 2])


def part_ranges(image: Elf, line: Line, inputs: Sequence[InputSection], parts: Sequence[Part]) -> tuple[Ranges, Texts]:
    """Where the parts lie, as rows of the texts of their owners."""
    first: dict[tuple[str, str], InputSection] = {}
    for row in inputs:
        first.setdefault((row.file, row.name), row)
    by_name = {section.name: section for section in reversed(image.sections) if section.is_allocated}
    owners = {owner: i for i, owner in enumerate(sorted({part.owner for part in parts}))}
    rows = []
    for part in parts:
        place = first.get((part.object, part.input))
        holder = by_name.get(place.output) if place is not None else None
        if place is not None and holder is not None:
            offset = place.address - holder.address + part.offset
            if offset >= 0 and offset + part.size <= holder.size:
                at = int(line.at[holder.index]) + offset
                rows.append((at, at + part.size, owners[part.owner]))
    table = np.array(sorted(rows), np.int64).reshape(-1, 3)
    start, end, which = disjoint(table[:, 0], table[:, 1], lambda: (table[:, 1] - table[:, 0], table[:, 2]))
    return Ranges(start, end, table[which, 2]), Texts.of(owners)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of places on the line."""

    symbols: SymbolRanges
    inputs: Ranges
    parts: Ranges


@dataclass(frozen=True, slots=True)
class Rows:
    """Pieces whose columns can be written to. stop: where each ends; input, part: NONE if nothing has any."""

    start: Int
    stop: Int
    section: Int
    kind: Int8
    analyzer: Int8
    confidence: Int8
    symbol: Int32
    group: Int32
    input: Int32 | int
    part: Int32 | int

    def take(self, which: Int, start: Int, stop: Int) -> Rows:
        """Some of them, which may repeat, in other places."""
        columns: dict[str, Any] = {}
        for name in Rows.__slots__[2:]:
            column = getattr(self, name)
            columns[name] = column if isinstance(column, int) else column[which]
        return Rows(start, stop, **columns)


def content_pieces(image: Elf, line: Line, sections: Sequence[int], kinds: Int8, names: Texts, evidence: Evidence) -> Pieces:
    """The pieces of those sections, in order. kinds: of the bytes of each section of the image."""
    chosen = np.array([i for i in sections if line.size[i] > 0], np.int64)
    low, high = line.at[chosen], line.at[chosen] + line.size[chosen]
    symbols, inputs, parts = evidence.symbols, evidence.inputs, evidence.parts
    by_input: Int32 | int = NONE
    by_part: Int32 | int = NONE
    if not len(inputs.start) and not len(parts.start):
        start, which, count = _by_symbols(low, high, symbols)
    else:
        start = _by_all(low, high, evidence)
        which = Ranges(symbols.start, symbols.end, np.arange(len(symbols.start))).over(start)
        count = np.diff(np.searchsorted(start, np.append(low, high[-1:])))
        by_input, by_part = inputs.over(start).astype(np.int32), parts.over(start).astype(np.int32)
    # Sections between these may belong to others, so a piece ends with its section.
    stop = np.append(start[1:], 0)[: len(start)]
    filled = count > 0
    stop[np.cumsum(count)[filled] - 1] = high[filled]
    analyzer = _of(symbols.analyzer, which, ANALYZER["unattributed"])
    if not isinstance(by_input, int):
        analyzer[(which < 0) & (by_input >= 0)] = ANALYZER["linker map"]
        analyzer[by_part >= 0] = ANALYZER["part"]
    rows = Rows(
        start,
        stop,
        np.repeat(chosen, count),
        np.repeat(kinds[chosen], count),
        analyzer,
        _of(symbols.confidence, which, 100),
        _of(symbols.symbol, which, NONE),
        _of(symbols.group, which, NONE),
        by_input,
        by_part,
    )
    _classes(rows.kind, rows.symbol, names)
    rows = _fill(image, line, rows, np.flatnonzero((which < 0) & (np.asarray(by_part) < 0)))
    return Pieces(**{name: getattr(rows, name) for name in ("section", *COLUMNS)})


def _of(column: npt.NDArray[T], which: Int, otherwise: int) -> npt.NDArray[T]:
    """column[which], and the other value where that is NONE, which is -1."""
    found: npt.NDArray[T] = np.append(column, column.dtype.type(otherwise))[which]
    return found


def _fill(image: Elf, line: Line, rows: Rows, gaps: Int) -> Rows:
    """The rows with those gaps cut into strings, padding and what stays unknown."""
    whole, found = look_into(image, line, rows.start[gaps], rows.stop[gaps], rows.section[gaps])
    _pad(rows, gaps[whole])
    if not len(found.start):
        return rows
    edges = sorted_unique(np.concatenate([found.start, found.end]))
    index = np.searchsorted(rows.start, edges, side="right") - 1
    is_cut = (rows.start[index] != edges) & (edges < rows.stop[index])
    cuts = edges[is_cut]
    many = np.bincount(index[is_cut], minlength=len(rows.start))
    repeat = np.repeat(np.arange(len(rows.start)), 1 + many)
    start = np.sort(np.concatenate([rows.start, cuts]), kind="stable")
    stop = np.append(start[1:], 0)
    last = np.diff(repeat, append=len(rows.start)) != 0
    stop[last] = rows.stop
    rows = rows.take(repeat, start, stop)
    at = np.searchsorted(rows.start, found.start)
    _pad(rows, at[found.what == PADDING])
    strings = at[found.what != PADDING]
    rows.kind[strings] = KIND["string"]
    alone = strings if isinstance(rows.input, int) else strings[rows.input[strings] < 0]
    rows.analyzer[alone] = ANALYZER["strings"]
    rows.confidence[alone] = STRING_CONFIDENCE
    return rows


def _pad(rows: Rows, which: Int) -> None:
    rows.kind[which] = KIND["padding"]
    rows.analyzer[which] = ANALYZER["padding"]
    rows.confidence[which] = PADDING_CONFIDENCE


def _by_symbols(low: Int, high: Int, symbols: SymbolRanges) -> tuple[Int, Int, Int]:
    """Starts of the pieces of the sections [low, high), which symbol each is of, or NONE, and how many each section has.

    What lies before each symbol, and behind the last one of a section, is a piece unless it is empty.
    """
    first, last = np.searchsorted(symbols.start, low), np.searchsorted(symbols.start, high)
    many = last - first
    mine = np.concatenate([np.zeros(0, np.int64), *(np.arange(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True))])
    behind = np.cumsum(many)
    start = symbols.start[mine]
    gap_start, gap_end = np.insert(symbols.end[mine], behind - many, low), np.insert(start, behind, high)
    is_gap = gap_start < gap_end
    gaps_before = np.cumsum(is_gap)
    home = np.repeat(np.arange(len(low)), many + 1)
    # The gap before symbol k of section s is k + s, so before it are k symbols.
    gap = np.flatnonzero(is_gap)
    gap_place = gap - home[gap] + np.arange(len(gap))
    place = np.arange(len(mine)) + gaps_before[np.arange(len(mine)) + np.repeat(np.arange(len(low)), many)]
    starts = np.empty(len(mine) + len(gap), np.int64)
    which = np.full(len(starts), NONE, np.int64)
    starts[gap_place] = gap_start[gap]
    starts[place] = start
    which[place] = mine
    return starts, which, many + np.bincount(home[gap], minlength=len(low))


def _by_all(low: Int, high: Int, evidence: Evidence) -> Int:
    tables = (evidence.symbols, evidence.inputs, evidence.parts)
    edges = sorted_unique(np.concatenate([low, high, *(table.start for table in tables), *(table.end for table in tables)]))
    home = np.searchsorted(low, edges, side="right") - 1
    inside = (home >= 0) & (edges < high[home]) if len(low) else np.zeros(len(edges), bool)
    return edges[inside]


def _classes(kind: Int8, symbol: Int32, names: Texts) -> None:
    """Virtual tables and type information by what their names begin with."""
    rows = np.flatnonzero((kind != KIND["code"]) & (symbol >= 0))
    first = names.start[symbol[rows]]
    long = names.end[symbol[rows]] - first >= 4
    rows, first = rows[long], first[long]
    if not len(rows):
        return
    buffer = names.buffer
    special = (buffer[first] == ord("_")) & (buffer[first + 1] == ord("Z")) & (buffer[first + 2] == ord("T"))
    fourth = buffer[first + 3]
    kind[rows[special & ((fourth == ord("V")) | (fourth == ord("T")))]] = KIND["vtable"]
    kind[rows[special & ((fourth == ord("I")) | (fourth == ord("S")))]] = KIND["typeinfo"]
