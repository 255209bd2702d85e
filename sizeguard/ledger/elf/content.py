"""Cut sections of code and data into pieces with owners.

Pieces come from registration entries, symbols, rows of the linker map, and the gaps between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int, Int8, Int32, Texts
from sizeguard.formats.elf import Elf, Section
from sizeguard.ledger.elf.disjoint_symbols import DisjointSymbols
from sizeguard.ledger.elf.gaps import PADDING, look_into
from sizeguard.ledger.elf.owner_table import COLUMNS, Line, Pieces, disjoint
from sizeguard.ledger.entry_bytes import Part
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE

if TYPE_CHECKING:
    from sizeguard.formats.linkmap.link_map import InputSection

T = TypeVar("T", bound=np.signedinteger)

_CODE = compiled_beside(__file__)


@dataclass(frozen=True, slots=True)
class RowRanges:
    """Ranges [start, end) on the line, sorted and disjoint, each with a row of a table."""

    start: Int
    end: Int
    row: Int

    def over(self, places: Int) -> Int:
        """Return the row of each place; NONE if there is none."""
        if not len(self.start):
            return np.full(len(places), NONE, np.int64)
        found = np.searchsorted(self.start, places, side="right") - 1
        inside = (found >= 0) & (places < self.end[found])
        return np.where(inside, self.row[found], NONE)


def input_ranges(image: Elf, line: Line, inputs: Sequence[InputSection]) -> RowRanges:
    """Return the ranges of the map's rows.

    Rows of sections that are not loaded are left out, since their addresses have no meaning. GNU ld
    gives merged strings their size before merging, so rows may overlap. In an overlap, a row of a
    single object wins, then the smaller row.
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
    start, end, which = disjoint(
        table[:, 0], table[:, 1], lambda: (table[:, 3], table[:, 1] - table[:, 0], table[:, 2])
    )
    return RowRanges(start, end, table[which, 2])


def part_ranges(
    image: Elf, line: Line, inputs: Sequence[InputSection], parts: Sequence[Part]
) -> tuple[RowRanges, Texts]:
    """Return the ranges of the parts, as rows into the second result, the names of their owners."""
    first: dict[tuple[str, str], InputSection] = {}
    for row in inputs:
        first.setdefault((row.file, row.name), row)
    by_name = {
        section.name: section for section in reversed(image.sections) if section.is_allocated
    }
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
    start, end, which = disjoint(
        table[:, 0], table[:, 1], lambda: (table[:, 1] - table[:, 0], table[:, 2])
    )
    return RowRanges(start, end, table[which, 2]), Texts.of(owners)


@dataclass(frozen=True, slots=True)
class ContentSources:
    """Ranges on the line from each analyzer.

    part_analyzers: the analyzer that found each part; None for entries from objects
    """

    symbols: DisjointSymbols
    inputs: RowRanges
    parts: RowRanges
    part_analyzers: Int8 | None = None


@dataclass(frozen=True, slots=True)
class PieceRows:
    """Pieces as columns that can be changed.

    stop: end of each piece; input, part: NONE if no piece has any.
    """

    start: Int
    stop: Int
    section: Int
    kind: Int8
    analyzer: Int8
    symbol: Int32
    group: Int32
    input: Int32 | int
    part: Int32 | int

    def take(self, which: Int, start: Int, stop: Int) -> PieceRows:
        """Select rows, possibly repeated, and give them new places."""
        columns: dict[str, Any] = {}
        for name in PieceRows.__slots__[2:]:
            column = getattr(self, name)
            columns[name] = column if isinstance(column, int) else column[which]
        return PieceRows(start, stop, **columns)


def content_pieces(
    image: Elf,
    line: Line,
    sections: Sequence[int],
    kinds: Int8,
    names: Texts,
    evidence: ContentSources,
) -> Pieces:
    """Cut sections into pieces, in order; `kinds` has the kind of each section of the image."""
    chosen = np.array([i for i in sections if line.size[i] > 0], np.int64)
    rows, gaps = _uncut_rows(line, chosen, kinds, evidence)
    _classes(rows.kind, rows.symbol, names)
    rows = _fill(image, line, rows, gaps)
    return Pieces(**{name: getattr(rows, name) for name in ("section", *COLUMNS)})


def _uncut_rows(
    line: Line, chosen: Int, kinds: Int8, evidence: ContentSources
) -> tuple[PieceRows, Int]:
    """Cut the chosen sections at the edges of the sources; return the rows and which are gaps.

    A gap is a row without a symbol and without a part.
    """
    low, high = line.at[chosen], line.at[chosen] + line.size[chosen]
    symbols, inputs, parts = evidence.symbols, evidence.inputs, evidence.parts
    if not len(inputs.start) and (evidence.part_analyzers is not None or not len(parts.start)):
        return cut_sections(chosen, low, high, kinds[chosen], evidence)
    start = _by_all(low, high, evidence)
    which = RowRanges(symbols.start, symbols.end, np.arange(len(symbols.start))).over(start)
    count = np.diff(np.searchsorted(start, np.append(low, high[-1:])))
    by_input, by_part = inputs.over(start).astype(np.int32), parts.over(start).astype(np.int32)
    # Other analyzers may own sections in between, so a piece ends with its section.
    stop = np.append(start[1:], 0)[: len(start)]
    filled = count > 0
    stop[np.cumsum(count)[filled] - 1] = high[filled]
    rows = PieceRows(
        start,
        stop,
        np.repeat(chosen, count),
        np.repeat(kinds[chosen], count),
        _analyzers(evidence, which, by_input, by_part),
        _of(symbols.symbol, which, NONE),
        _of(symbols.group, which, NONE),
        by_input,
        by_part,
    )
    return rows, np.flatnonzero((which < 0) & (by_part < 0))


def cut_sections(
    chosen: Int, low: Int, high: Int, kinds: Int8, evidence: ContentSources
) -> tuple[PieceRows, Int]:
    """Cut sections into symbols, functions without one, and gaps; return rows and which are gaps.

    low, high, kinds: of the chosen sections. The functions are outside symbols.
    """
    symbols, parts = evidence.symbols, evidence.parts
    room = 2 * (len(symbols.start) + len(parts.start)) + len(chosen)
    start, stop, section, gaps = (np.empty(room, np.int64) for _ in range(4))
    kind, analyzer = np.empty(room, np.int8), np.empty(room, np.int8)
    symbol, group, part = (np.empty(room, np.int32) for _ in range(3))
    of_parts = evidence.part_analyzers
    count = _CODE.call(
        "cut_sections",
        *(symbols.start, symbols.end, symbols.symbol, symbols.group, symbols.analyzer),
        len(symbols.start),
        *(parts.start, parts.end, parts.row),
        np.zeros(0, np.int8) if of_parts is None else of_parts,
        len(parts.start),
        *(low, high, chosen, kinds),
        len(chosen),
        ANALYZER["unattributed"],
        *(start, stop, section, kind, analyzer, symbol, group, part, gaps),
        many := np.zeros(1, np.int64),
    )
    some = slice(count)
    rows = PieceRows(
        start[some],
        stop[some],
        section[some],
        kind[some],
        analyzer[some],
        symbol[some],
        group[some],
        NONE,
        part[some] if len(parts.start) else NONE,
    )
    return rows, gaps[: int(many[0])]


def _analyzers(evidence: ContentSources, which: Int, by_input: Int32, by_part: Int32) -> Int8:
    """Return the analyzer of each row; which, by_input, by_part: its symbol, input and part."""
    analyzer = _of(evidence.symbols.analyzer, which, ANALYZER["unattributed"])
    analyzer[(which < 0) & (by_input >= 0)] = ANALYZER["linker map"]
    is_part = np.flatnonzero(by_part >= 0)
    found = evidence.part_analyzers
    analyzer[is_part] = ANALYZER["part"] if found is None else found[by_part[is_part]]
    return analyzer


def _of(column: npt.NDArray[T], which: Int, otherwise: int) -> npt.NDArray[T]:
    """Return column[which], and the other value where `which` is NONE (-1)."""
    found: npt.NDArray[T] = np.append(column, column.dtype.type(otherwise))[which]
    return found


def _fill(image: Elf, line: Line, rows: PieceRows, gaps: Int) -> PieceRows:
    """Cut gaps into strings, padding and the rest; return all rows."""
    whole, found = look_into(image, line, rows.start[gaps], rows.stop[gaps], rows.section[gaps])
    _pad(rows, gaps[whole])
    if not len(found.start):
        return rows
    edges = distinct(np.concatenate([found.start, found.end]))
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
    return rows


def _pad(rows: PieceRows, which: Int) -> None:
    """Mark rows as padding."""
    rows.kind[which] = KIND["padding"]
    rows.analyzer[which] = ANALYZER["padding"]


def _by_all(low: Int, high: Int, evidence: ContentSources) -> Int:
    """Return the starts of pieces: edges of symbols, map rows and parts inside the sections."""
    tables = (evidence.symbols, evidence.inputs, evidence.parts)
    edges = distinct(
        np.concatenate(
            [low, high, *(table.start for table in tables), *(table.end for table in tables)]
        )
    )
    home = np.searchsorted(low, edges, side="right") - 1
    inside = (home >= 0) & (edges < high[home]) if len(low) else np.zeros(len(edges), bool)
    return edges[inside]


def _classes(kind: Int8, symbol: Int32, names: Texts) -> None:
    """Find virtual tables and type information by the prefix of their names."""
    kinds = (KIND["code"], KIND["vtable"], KIND["typeinfo"])
    texts = (names.buffer, names.start, names.end)
    _CODE.call("name_kinds", kind, symbol, len(symbol), *texts, *kinds)
