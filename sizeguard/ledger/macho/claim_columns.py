"""Claims on a Mach-O image's bytes, as columns, and the table of owners that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.columns.sort import packed_order
from sizeguard.columns.texts import Int, Int32
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE, AliasGroups, Owners
from sizeguard.ledger.macho.name_refs import MergedNames, NameRefs, merged_names
from sizeguard.ledger.macho.named_ranges import NamedRanges
from sizeguard.ledger.partition import Claims

Bool = npt.NDArray[np.bool_]
Column = int | Int | Int32

# Strength of evidence. A whole section gives way to any claim inside it, a filler only to claims of
# entries.
SECTION, FILLER, SYMBOL, PART = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Claimed:
    """Ranges [start, end) of a section or of the file, and their owners; an integer is for all.

    context: see ClaimTable.context
    name:    reference of a name
    range:   row of the named ranges, whose names are the owner's
    part:    reference of a part's name
    input:   row of the linker map
    """

    start: Int
    end: Int
    rank: int
    context: Column
    name: Column = NONE
    range: Column = NONE
    part: Column = NONE
    input: Column = NONE

    def take(self, where: Int | Bool) -> Claimed:
        """Select claims."""
        return Claimed(
            self.start[where],
            self.end[where],
            self.rank,
            *(
                column if isinstance(column, int) else column[where]
                for column in (self.context, self.name, self.range, self.part, self.input)
            ),
        )


def one(start: int, end: int, rank: int, context: int, part: int = NONE) -> Claimed:
    """Make a single claim."""
    return Claimed(np.array([start]), np.array([end]), rank, context, part=part)


@dataclass(slots=True)
class _Space:
    """The claims on the file or on memory, and which entry of the table each is of."""

    start: list[Int]
    end: list[Int]
    entry: list[Int]

    def add(self, start: Int, end: Int, entry: Int) -> None:
        """Add claims, but empty ones."""
        filled = start < end
        whole = bool(filled.all())
        self.start.append(start if whole else start[filled])
        self.end.append(end if whole else end[filled])
        self.entry.append(entry if whole else entry[filled])

    def gaps(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return the ranges of [low, high) that no claim covers so far."""
        nothing = np.zeros(0, np.int64)
        start = np.concatenate([nothing, *self.start, [high]])
        end = np.concatenate([nothing, *self.end, [high]])
        order = packed_order(start)
        start, end = start[order].clip(low, high), end[order].clip(low, high)
        reached = np.maximum.accumulate(np.append(np.int64(low), end[:-1]))
        where = np.flatnonzero(start > reached)
        return list(zip(reached[where].tolist(), start[where].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class OwnerColumns:
    """The owners of a table's claims, each once, and what they point into.

    of_claim: the owner of each entry of the table
    """

    columns: dict[str, npt.NDArray[np.int32]]
    of_claim: Int32
    names: MergedNames
    parts: MergedNames
    groups: AliasGroups

    def __len__(self) -> int:
        """Return the number of owners."""
        return len(self.columns["symbol"])

    def owners(self, used: Bool) -> Owners:
        """Return the used rows; rows whose bytes stronger claims cover are not used."""
        small = ("kind", "analyzer", "confidence")
        return Owners.of(
            {
                name: self.columns[name][used].astype(np.int8 if name in small else np.int32)
                for name in Owners.COLUMNS
            }
        )


class ClaimTable:
    """Claims in order of being made, on the file and on memory."""

    def __init__(self, names: NameRefs, ranges: NamedRanges) -> None:
        """Start without claims; ranges: whose names owners may have."""
        self.names = names
        self.parts = NameRefs()
        self.sections: dict[str, int] = {}
        self.segments: dict[str, int] = {}
        self._ranges = ranges
        self._contexts: dict[tuple[int, int, int, int, int], int] = {}
        self._claims: list[Claimed] = []
        self._count = 0
        self._file, self._memory = (_Space([], [], []) for _ in range(2))

    def context(
        self, section: str, segment: str, kind: str, analyzer: str, confidence: int = 100
    ) -> int:
        """Return the number of what an owner has besides names."""
        fields = (
            self.sections.setdefault(section, len(self.sections)),
            self.segments.setdefault(segment, len(self.segments)),
            KIND[kind],
            ANALYZER[analyzer],
            confidence,
        )
        return self._contexts.setdefault(fields, len(self._contexts))

    def claim(self, claims: Claimed, in_file: int | None, in_memory: Int | int | None) -> None:
        """Add claims, moved by these distances to places in the file and in memory; None: nowhere.

        in_memory: a distance for each claim, or for all
        """
        entry = np.arange(self._count, self._count + len(claims.start))
        if in_file is not None:
            self._file.add(claims.start + in_file, claims.end + in_file, entry)
        if in_memory is not None:
            self._memory.add(claims.start + in_memory, claims.end + in_memory, entry)
        self._claims.append(claims)
        self._count += len(claims.start)

    def claim_memory(self, start: Int, end: Int, of: Int) -> None:
        """Add claims on memory alone, of the last claims that were made."""
        self._memory.add(start, end, of + (self._count - len(self._claims[-1].start)))

    def file_gaps(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return the ranges of the file that no claim covers so far."""
        return self._file.gaps(low, high)

    def memory_gaps(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return the ranges of memory that no claim covers so far."""
        return self._memory.gaps(low, high)

    def file(self, owner: Int32) -> Claims:
        """Return the claims on the file; owner: of each entry."""
        return self._of(self._file, owner)

    def memory(self, owner: Int32) -> Claims:
        """Return the claims on memory; owner: of each entry."""
        return self._of(self._memory, owner)

    def _of(self, space: _Space, owner: Int32) -> Claims:
        nothing = np.zeros(0, np.int64)
        start, end, entry = (
            np.concatenate([nothing, *columns]) for columns in (space.start, space.end, space.entry)
        )
        lengths = [len(claims.start) for claims in self._claims]
        rank = np.repeat(np.array([claims.rank for claims in self._claims], np.int8), lengths)
        return Claims(start, end, owner[entry].astype(np.int64), rank[entry])

    def owners(self) -> OwnerColumns:
        """Merge the owners of all claims."""
        context, name, range_, part, input_ = (
            self._column(column) for column in ("context", "name", "range", "part", "input")
        )
        ranges = self._ranges
        has_range = range_ >= 0
        count = np.diff(ranges.first)
        first = np.append(ranges.member, NONE)[ranges.first[:-1]]
        first[count == 0] = NONE
        name[has_range] = first[range_[has_range]]
        several = np.flatnonzero(count > 1)
        used = np.zeros(len(count) + 1, np.bool_)
        used[range_] = True
        several = several[used[several]]
        members = [
            ranges.member[low:high]
            for low, high in zip(
                ranges.first[several].tolist(), ranges.first[several + 1].tolist(), strict=True
            )
        ]
        names = merged_names(self.names, (name, *members))
        parts = merged_names(self.parts, (part,))
        group_of_range = np.full(len(count) + 1, NONE, np.int32)
        groups, numbers = _groups([names.number[some] for some in members])
        group_of_range[several] = numbers
        symbol = _numbered(names.number, name)
        group = group_of_range[range_]
        of_part = _numbered(parts.number, part)
        row, entry = _distinct_rows(context, symbol, group, of_part, input_)
        table = np.array(list(self._contexts), np.int32).reshape(-1, 5)[context[entry]]
        fields = ("section", "segment", "kind", "analyzer", "confidence")
        columns = dict(zip(fields, table.T, strict=True))
        columns |= {
            "symbol": symbol[entry],
            "group": group[entry],
            "part": of_part[entry],
            "input": input_[entry],
        }
        return OwnerColumns(columns, row, names, parts, groups)

    def _column(self, name: str) -> Int32:
        """Return a field of all claims."""
        column = np.empty(self._count, np.int32)
        at = 0
        for claims in self._claims:
            column[at : at + len(claims.start)] = getattr(claims, name)
            at += len(claims.start)
        return column


def _numbered(number: Int32, refs: Int32) -> Int32:
    """Return the numbers of references; NONE stays."""
    return np.append(number, np.int32(NONE))[refs]


def _groups(members: Sequence[Int32]) -> tuple[AliasGroups, Int32]:
    """Return the alias groups, each once, and the group of each list of members."""
    known: dict[bytes, int] = {}
    numbers = [known.setdefault(some.tobytes(), len(known)) for some in members]
    lists = [np.frombuffer(some, np.int32) for some in known]
    lengths = np.array([len(some) for some in lists], np.int32)
    first = np.concatenate([[0], np.cumsum(lengths, dtype=np.int32)]).astype(np.int32)
    nothing = np.zeros(0, np.int32)
    return AliasGroups(first, np.concatenate([nothing, *lists])), np.array(numbers, np.int32)


def _distinct_rows(
    context: Int32, symbol: Int32, group: Int32, part: Int32, input_: Int32
) -> tuple[Int32, Int]:
    """Return the row of each entry, where equal entries have one, and an entry of each row.

    A group stands for its first name, and what has a part has no names.
    """
    symbols, groups, parts = (int(c.max(initial=-1)) + 1 for c in (symbol, group, part))
    who = (symbol + 1).astype(np.int64)
    in_group, is_part = group >= 0, part >= 0
    who[in_group] = group[in_group] + np.int64(1 + symbols)
    who[is_part] = part[is_part] + np.int64(1 + symbols + groups)
    key = who
    key += context.astype(np.int64) * (1 + symbols + groups + parts)
    key *= int(input_.max(initial=-1)) + 2
    key += input_ + 1
    order = packed_order(key)
    key = key[order]
    is_new = np.ones(len(key), np.bool_)
    is_new[1:] = key[1:] != key[:-1]
    row = np.empty(len(key), np.int32)
    row[order] = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
    return row, order[is_new]
