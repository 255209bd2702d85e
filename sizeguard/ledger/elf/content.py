"""Turns sections of code and data into pieces: by registration entries, symbols and rows of the linker map, and what lies between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sizeguard.formats.elf import Elf, Section
from sizeguard.formats.texts import Int, Texts
from sizeguard.ledger.elf.gaps import PADDING, look_into
from sizeguard.ledger.elf.rows import COLUMNS, Line, Pieces, cover, disjoint, sorted_unique
from sizeguard.ledger.elf.symbols import SymbolRanges
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE, Int8, Int32
from sizeguard.ledger.part import Part

if TYPE_CHECKING:
    from sizeguard.formats.linkmap.row import InputSection

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
    start, end, which = disjoint(table[:, 0], table[:, 1], (table[:, 3], table[:, 1] - table[:, 0], table[:, 2]))
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
    start, end, which = disjoint(table[:, 0], table[:, 1], (table[:, 1] - table[:, 0], table[:, 2]))
    return Ranges(start, end, table[which, 2]), Texts.of(owners)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of places on the line."""

    symbols: SymbolRanges
    inputs: Ranges
    parts: Ranges


@dataclass(frozen=True, slots=True)
class Rows:
    """Pieces whose columns are all arrays that can be written to."""

    start: Int
    size: Int
    section: Int
    kind: Int8
    analyzer: Int8
    confidence: Int8
    symbol: Int32
    group: Int32
    input: Int32
    part: Int32


def content_pieces(image: Elf, line: Line, sections: Sequence[int], kinds: Int8, names: Texts, evidence: Evidence) -> Pieces:
    """The pieces of those sections, in order. kinds: of the bytes of each section of the image."""
    chosen = np.array([i for i in sections if line.size[i] > 0], np.int64)
    low, high = line.at[chosen], line.at[chosen] + line.size[chosen]
    symbols = evidence.symbols
    at_symbol = np.searchsorted(line.at, symbols.start, side="right") - 1
    mine = np.isin(at_symbol, chosen)
    if not len(evidence.inputs.start) and not len(evidence.parts.start):
        start, size, which = _by_symbols(low, high, symbols, np.flatnonzero(mine))
        by_input = by_part = np.full(len(start), NONE, np.int64)
    else:
        start, size = _by_all(low, high, evidence)
        which = Ranges(symbols.start, symbols.end, np.arange(len(symbols.start))).over(start)
        by_input, by_part = evidence.inputs.over(start), evidence.parts.over(start)
    section = chosen[np.searchsorted(low, start, side="right") - 1]
    known = which >= 0
    kind = kinds[section]
    analyzer = np.where(by_input >= 0, ANALYZER["linker map"], ANALYZER["unattributed"]).astype(np.int8)
    confidence = np.full(len(start), 100, np.int8)
    symbol = np.full(len(start), NONE, np.int32)
    group = symbol.copy()
    if len(symbols.start):
        symbol[known] = symbols.symbol[which[known]]
        group[known] = symbols.group[which[known]]
        analyzer[known] = symbols.analyzer[which[known]]
        confidence[known] = symbols.confidence[which[known]]
        _classes(kind, symbol, known, names)
    analyzer[by_part >= 0] = ANALYZER["part"]
    rows = Rows(start, size, section, kind, analyzer, confidence, symbol, group, by_input.astype(np.int32), by_part.astype(np.int32))
    return _fill(image, line, rows, np.flatnonzero(~known & (by_part < 0)), evidence.inputs, evidence.parts)


def _fill(image: Elf, line: Line, rows: Rows, gaps: Int, inputs: Ranges, parts: Ranges) -> Pieces:
    """The rows with those gaps cut into strings, padding and what stays unknown."""
    start, size = rows.start[gaps], rows.size[gaps]
    found = look_into(image, line, start, start + size, rows.section[gaps])
    edges = sorted_unique(np.concatenate([found.start, found.end]))
    index = np.searchsorted(rows.start, edges, side="right") - 1
    cuts = edges[(rows.start[index] != edges) & (edges < rows.start[index] + rows.size[index])] if len(edges) else edges
    if len(cuts):
        many = np.bincount(np.searchsorted(rows.start, cuts, side="right") - 1, minlength=len(rows.start))
        whole_end = rows.start + rows.size
        repeat = np.repeat(np.arange(len(rows.start)), 1 + many)
        rows = Rows(*(getattr(rows, name)[repeat] for name in Rows.__slots__))
        new = np.sort(np.concatenate([rows.start[np.diff(repeat, prepend=-1) != 0], cuts]), kind="stable")
        end = np.append(new[1:], 0)
        last = np.diff(repeat, append=len(whole_end)) != 0
        rows = replace(rows, start=new, size=np.where(last, whole_end[repeat], end) - new)
    at = np.searchsorted(rows.start, found.start)
    padding = at[found.what == PADDING]
    rows.kind[padding] = KIND["padding"]
    rows.analyzer[padding] = ANALYZER["padding"]
    rows.confidence[padding] = PADDING_CONFIDENCE
    strings = at[found.what != PADDING]
    rows.kind[strings] = KIND["string"]
    alone = strings[rows.input[strings] < 0]
    rows.analyzer[alone] = ANALYZER["strings"]
    rows.confidence[alone] = STRING_CONFIDENCE
    columns = {name: getattr(rows, name) for name in COLUMNS}
    for name, table in (("input", inputs), ("part", parts)):
        if not len(table.start):
            columns[name] = NONE
    return Pieces(section=rows.section, **columns)


def _by_symbols(low: Int, high: Int, symbols: SymbolRanges, mine: Int) -> tuple[Int, Int, Int]:
    """Starts and sizes of the pieces of the sections [low, high), and which symbol each is of."""
    start, end = symbols.start[mine], symbols.end[mine]
    bounds = np.searchsorted(start, low), np.searchsorted(start, high)
    cut = [cover(a, b, start[i:j], end[i:j]) for a, b, i, j in zip(low.tolist(), high.tolist(), *(b.tolist() for b in bounds), strict=True)]
    starts = np.concatenate([np.zeros(0, np.int64), *(piece for piece, _ in cut)])
    which = np.concatenate([np.zeros(0, np.int64), *(np.where(w >= 0, w + i, NONE) for (_, w), i in zip(cut, bounds[0], strict=True))])
    # Sections between these may belong to others, so a piece ends with its section.
    size = np.diff(starts, append=0)
    last = np.cumsum([len(piece) for piece, _ in cut], dtype=np.int64) - 1
    size[last] = high - starts[last]
    return starts, size, np.where(which >= 0, mine[which] if len(mine) else which, NONE)


def _by_all(low: Int, high: Int, evidence: Evidence) -> tuple[Int, Int]:
    tables = (evidence.symbols, evidence.inputs, evidence.parts)
    edges = sorted_unique(np.concatenate([low, high, *(table.start for table in tables), *(table.end for table in tables)]))
    home = np.searchsorted(low, edges, side="right") - 1
    inside = (home >= 0) & (edges < high[home]) if len(low) else np.zeros(len(edges), bool)
    size = np.diff(edges, append=edges[-1:])
    return edges[inside], size[inside]


def _classes(kind: Int8, symbol: Int32, known: npt.NDArray[np.bool_], names: Texts) -> None:
    """Virtual tables and type information by what their names begin with."""
    rows = np.flatnonzero(known & (kind != KIND["code"]))
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
