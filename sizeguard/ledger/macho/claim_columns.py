"""Claims on a Mach-O image's bytes, as columns, and the table of owners that they define."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.sort import packed_order
from sizeguard.columns.texts import Int, Int32
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE, AliasGroups, Owners
from sizeguard.ledger.macho.name_refs import MergedNames, NameRefs, merged_names
from sizeguard.ledger.macho.named_ranges import NamedRanges
from sizeguard.ledger.partition import UNATTRIBUTED, Claims, Partition

Bool = npt.NDArray[np.bool_]
_NOTHING = np.zeros(0, np.int64)
_FIELDS = ("section", "segment", "kind", "analyzer")  # fields of a context
Column = int | Int | Int32

# Strength of evidence. A section yields to any claim inside it, a filler only to claims of entries.
SECTION, FILLER, SYMBOL, PART = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Claimed:
    """Ranges [start, end) of a section or of the file, and their owners; an integer applies to all.

    context: see ClaimTable.context
    name:    reference to a name
    range:   row of the named ranges, whose names the owner has
    part:    reference to a part's name
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
    """The claims on the file, or on zeros of memory, and the entry of the table for each."""

    start: list[Int]
    end: list[Int]
    entry: list[Int]

    def add(self, start: Int, end: Int, entry: Int) -> None:
        """Add claims, except empty ones."""
        filled = start < end
        whole = bool(filled.all())
        self.start.append(start if whole else start[filled])
        self.end.append(end if whole else end[filled])
        self.entry.append(entry if whole else entry[filled])


class OwnerColumns:
    """The owners of a table's claims, without duplicates, and owners of unclaimed bytes.

    of_claim: the owner of each entry of the table
    """

    def __init__(
        self,
        columns: dict[str, npt.NDArray[np.int32]],
        of_claim: Int32,
        names: MergedNames,
        parts: MergedNames,
        groups: AliasGroups,
    ) -> None:
        """Store the columns: context, symbol, group, part and input."""
        self.of_claim = of_claim
        self.names = names
        self.parts = parts
        self.groups = groups
        self._columns = columns
        self._claimed = len(columns["symbol"])
        self._more: dict[int, int] = {}

    def __len__(self) -> int:
        """Return the number of owners."""
        return self._claimed + len(self._more)

    def more(self, context: int) -> int:
        """Return the owner of unclaimed bytes in a context."""
        return self._more.setdefault(context, len(self))

    def without_more(self, filled: Partition) -> Partition:
        """Return a partition in which unclaimed bytes have no owner."""
        owner = np.where(filled.owner < self._claimed, filled.owner, UNATTRIBUTED)
        return Partition(filled.start, owner, filled.size)

    def take(self, used: Bool, contexts: Iterable[tuple[int, ...]]) -> Owners:
        """Take the used rows out; rows whose bytes are covered by stronger claims are not used.

        contexts: of the table
        """
        nobody = np.full(len(self._more), NONE, np.int32)
        context = np.concatenate([self._columns["context"], [*self._more]]).astype(np.int64)[used]
        columns: dict[str, npt.NDArray[Any]] = {
            name: np.concatenate([column, nobody])[used].astype(np.int32)
            for name, column in self._columns.items()
            if name != "context"
        }
        table = np.array(list(contexts), np.int32).reshape(-1, len(_FIELDS))
        small = ("kind", "analyzer")
        for name, column in zip(_FIELDS, table.T, strict=True):
            columns[name] = column.astype(np.int8 if name in small else np.int32)[context]
        self._columns.clear()
        return Owners.of(columns)


class ClaimTable:
    """Claims in the order in which they are made, on the file and on zeros of memory."""

    def __init__(self, names: NameRefs, ranges: NamedRanges) -> None:
        """Start without claims; ranges: named ranges whose names owners may have."""
        self.names = names
        self.parts = NameRefs()
        self.sections: dict[str, int] = {}
        self.segments: dict[str, int] = {}
        self._ranges = ranges
        self.contexts: dict[tuple[int, int, int, int], int] = {}
        self._claims: list[Claimed] = []
        self._ranks: list[int] = []
        self._lengths: list[int] = []
        self._count = 0
        self._file, self._zeros = (_Space([], [], []) for _ in range(2))

    def context(self, section: str, segment: str, kind: str, analyzer: str) -> int:
        """Return the number of a combination of an owner's properties other than names."""
        fields = (
            self.sections.setdefault(section, len(self.sections)),
            self.segments.setdefault(segment, len(self.segments)),
            KIND[kind],
            ANALYZER[analyzer],
        )
        return self.contexts.setdefault(fields, len(self.contexts))

    def claim(self, claims: Claimed, at: int) -> None:
        """Add claims on bytes of the file, relative to the offset `at`."""
        self._add(self._file, claims, at)

    def claim_zeros(self, claims: Claimed, at: int) -> None:
        """Add claims on memory that is not in the file, relative to the place `at`."""
        self._add(self._zeros, claims, at)

    def _add(self, space: _Space, claims: Claimed, at: int) -> None:
        entry = np.arange(self._count, self._count + len(claims.start))
        space.add(claims.start + at, claims.end + at, entry)
        # The table stores no places; the space has them.
        self._claims.append(replace(claims, start=_NOTHING, end=_NOTHING))
        self._ranks.append(claims.rank)
        self._lengths.append(len(entry))
        self._count += len(entry)

    def take_file(self, owner: Int32) -> Claims:
        """Take the claims on the file out of the table; owner: by entry."""
        return self._taken(self._file, owner)

    def take_zeros(self, owner: Int32) -> Claims:
        """Take the claims on memory that is not in the file; owner: by entry."""
        return self._taken(self._zeros, owner)

    def _taken(self, space: _Space, owner: Int32) -> Claims:
        start, end, entry = (_emptied(each) for each in (space.start, space.end, space.entry))
        rank = np.repeat(np.array(self._ranks, np.int8), self._lengths)
        return Claims(start, end, owner[entry].astype(np.int64), rank[entry])

    def owners(self) -> OwnerColumns:
        """Merge the owners of all claims, whose columns are freed."""
        context, name, range_, part, input_ = (
            self._column(column) for column in ("context", "name", "range", "part", "input")
        )
        self._claims.clear()
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
        columns = {
            "context": context[entry],
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
        for claims, length in zip(self._claims, self._lengths, strict=True):
            column[at : at + length] = getattr(claims, name)
            at += length
        return column


def _emptied(columns: list[Int]) -> Int:
    """Return columns as one, and empty the list."""
    whole = np.concatenate([_NOTHING, *columns])
    columns.clear()
    return whole


def _numbered(number: Int32, refs: Int32) -> Int32:
    """Return the numbers of references; NONE stays NONE."""
    return np.append(number, np.int32(NONE))[refs]


def _groups(members: Sequence[Int32]) -> tuple[AliasGroups, Int32]:
    """Return the distinct alias groups, and the group of each list of members."""
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
    """Return the row of each entry, where equal entries share one, and one entry of each row.

    A group is identified by its first name; an entry with a part has no names.
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
