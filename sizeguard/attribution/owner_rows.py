"""Rows of an analysis: a ledger's owners, then additional rows for bytes with several names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.sums import WHAT, Counts, SumsById
from sizeguard.columns.texts import Int, Int32
from sizeguard.ledger.kinds import ANALYZER, ANALYZERS, KIND, KINDS
from sizeguard.ledger.ledger import Ledger

Bool = npt.NDArray[np.bool_]

_CODE = compiled_beside(__file__)


class OwnerRows:
    """Rows as columns: every owner of the ledger, then the added rows.

    An owner whose bytes have several names, or serve several operators through one kernel, has a
    row for each name and operator, with its exact share of the bytes. The first of these rows is
    the owner's original row.

    shares:       the added rows
    symbol:       by row, index into Ledger.symbols; NONE without a symbol
    nth_operator: by row, the position of its operator among the owner's operators
    """

    def __init__(
        self, ledger: Ledger, operators: Int | None = None, *, merge_names: bool = False
    ) -> None:
        """Add rows. operators: the number of operators by owner; None if not known.

        merge_names: whether an owner with several names has one row, with the name that has the
            smallest hash; only without `operators`

        nth_operator covers all rows only if `operators` is given; this saves 27 MB for ledgers with
        3.4 million owners.
        """
        self.ledger = ledger
        owners = ledger.owners
        if merge_names:
            nothing = np.zeros(0, np.int64)
            self.shares, self.nth_operator = _added(nothing, nothing), nothing
            self.symbol = _merged_names(ledger)
            return
        is_shared = owners.group >= 0
        if operators is not None:
            is_shared |= operators > 1
        shared = np.flatnonzero(is_shared)
        names = _count_names(ledger, shared)
        self.shares = _added(shared, names if operators is None else names * operators[shared])
        of_added = np.repeat(names, self.shares.per_owner)
        nth_operator, nth_name = np.divmod(self.shares.nth, of_added)
        first = np.zeros(0 if operators is None else len(owners), np.int64)
        self.nth_operator = np.concatenate([first, nth_operator])
        self.symbol = owners.symbol
        if len(shared):
            added = _nth_name(ledger, self.shares.owner, nth_name)
            self.symbol = np.concatenate([owners.symbol, added]).astype(np.int32, copy=False)
            self.symbol[shared] = _nth_name(ledger, shared, np.zeros(len(shared), np.int64))

    def sums(self, what: str) -> Int:
        """Return the bytes of all rows as a new array; what: file, load or ram."""
        sums = self.ledger.sums.column(what, len(self.shares.owner))
        self.shares.share(sums)
        return sums

    def counts(self) -> Counts:
        """Return the number of spans of all rows as a new array."""
        counts = self.ledger.sums.counts(len(self.shares.owner))
        self.shares.share(counts)
        return counts

    def sums_by(self, ids: Int | Int32, count: int) -> SumsById:
        """Sum rows with equal id; 0 <= ids < count."""
        owner, owners = self.shares.owner, len(self.ledger.owners)
        sums = self.ledger.sums.by(ids[:owners], count)
        if len(owner):
            there, here = ids[owner], ids[owners:]
            for what, column in zip(WHAT, sums, strict=True):
                shares = self.shares.of(self.ledger.sums.at(what, owner))
                np.subtract.at(column, there, shares)
                np.add.at(column, here, shares)
        return sums

    def of_owner(self, column: npt.NDArray[np.int32] | npt.NDArray[np.int8]) -> Int32:
        """Expand a column by owner to one by row."""
        return self._spread(column).astype(np.int32, copy=False)

    def of_symbol(self, ids: Int32, otherwise: int = 0, rows: Int | None = None) -> Int32:
        """Expand a column by symbol to rows; rows without a symbol get `otherwise`."""
        return at(ids, self.symbol if rows is None else self.symbol[rows], otherwise)

    def owner(self, rows: Int) -> Int:
        """Return the owners of some rows."""
        count = len(self.ledger.owners)
        if not len(self.shares.owner):
            return rows
        return np.where(rows < count, rows, self.shares.owner[np.maximum(rows - count, 0)])

    def has_kind(self, kinds: Sequence[str], rows: Int | None = None) -> Bool:
        """Return a mask of the rows of some kinds, of all rows or of some."""
        is_kind = np.zeros(len(KINDS), np.bool_)
        is_kind[[KIND[kind] for kind in kinds]] = True
        kind = self._spread(self.ledger.owners.kind)
        if rows is not None:
            kind = kind[rows]
        found = np.empty(len(kind), np.bool_)
        _CODE.call("match_kinds", is_kind, np.ascontiguousarray(kind, np.int8), len(kind), found)
        return found

    def is_unexplained(self, rows: Int | None = None) -> Bool:
        """Return a mask of the rows that no analyzer explains, or only as a function's start.

        rows: the rows to check; None for all
        """
        is_unknown = np.zeros(len(ANALYZERS), bool)
        is_unknown[[ANALYZER["unattributed"], ANALYZER["function starts"]]] = True
        analyzer = self._spread(self.ledger.owners.analyzer)
        found: Bool = is_unknown[analyzer if rows is None else analyzer[rows]]
        return found | self.has_kind(["unattributed"], rows)

    def _spread(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        owner = self.shares.owner
        return column if not len(owner) else np.concatenate([column, column[owner]])


@dataclass(frozen=True, slots=True)
class AddedRows:
    """Rows after those of all owners, as columns.

    owner:     the owner whose bytes they share
    nth:       their position among their owner's rows; the owner's original row is 0
    count:     the number of their owner's rows
    per_owner: the number of added rows of each shared owner
    """

    owner: Int
    nth: Int
    count: Int
    per_owner: Int

    def of(self, size: Int) -> Int:
        """Return these rows' shares of their owners' bytes.

        Shares are equal; the owner's first rows get the remainder, a byte each.
        """
        quotient, remainder = np.divmod(size, self.count)
        return quotient + (self.nth < remainder)

    def share(self, sums: Counts) -> None:
        """Move these rows' shares from their owners to them; `sums` ends with a zero for each."""
        shares = self.of(sums[self.owner].astype(np.int64))
        np.subtract.at(sums, self.owner, shares)
        sums[len(sums) - len(shares) :] = shares


def _added(shared: Int, count: Int) -> AddedRows:
    """Add rows so that each owner has `count` rows."""
    more = np.maximum(count - 1, 0)
    owner = np.repeat(shared, more)
    before = np.repeat(np.cumsum(more) - more, more)  # rows added for previous owners
    return AddedRows(owner, np.arange(len(owner)) - before + 1, np.repeat(count, more), more)


def _merged_names(ledger: Ledger) -> Int32:
    """Return the name of each owner; of several names, the one with the smallest hash."""
    symbol, groups = ledger.owners.symbol.copy(), ledger.groups
    if not len(groups.member):
        return symbol
    hashes = ledger.hashes[groups.member]
    group = np.repeat(np.arange(len(groups.first) - 1), np.diff(groups.first))
    smallest = np.minimum.reduceat(hashes, groups.first[:-1])
    chosen = np.flatnonzero(hashes == smallest[group])
    name = np.zeros(len(smallest), np.int32)
    name[group[chosen]] = groups.member[chosen]
    owners = np.flatnonzero(ledger.owners.group >= 0)
    symbol[owners] = name[ledger.owners.group[owners]]
    return symbol


def _count_names(ledger: Ledger, owner: Int) -> Int:
    """Return the number of names of each owner's bytes; 1 for bytes without a name."""
    group = ledger.owners.group[owner]
    count = np.ones(len(owner), np.int64)
    is_group = group >= 0
    first = ledger.groups.first
    count[is_group] = first[group[is_group] + 1] - first[group[is_group]]
    return count


def _nth_name(ledger: Ledger, owner: Int, nth: Int) -> Int32:
    """Return the nth name of each owner, as an index into Ledger.symbols."""
    symbol: Int32 = ledger.owners.symbol[owner]
    group = ledger.owners.group[owner]
    is_group = group >= 0
    first = ledger.groups.first[group[is_group]]
    symbol[is_group] = ledger.groups.member[first + nth[is_group]]
    return symbol


def at(values: Int32, index: Int32, otherwise: int = 0) -> Int32:
    """Return values[index], `otherwise` where the index is NONE."""
    found = np.empty(len(index), np.int32)
    where = np.ascontiguousarray(index, np.int32)
    _CODE.call(
        "gather", np.ascontiguousarray(values, np.int32), where, len(where), otherwise, found
    )
    return found


def first_known(ids: Int32, otherwise: Int32 | int) -> Int32:
    """Replace the ids that are 0."""
    return np.where(ids > 0, ids, otherwise).astype(np.int32)
