"""Bytes of owners, separate or summed over all owners with the same label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.texts import Int

_CODE = compiled_beside(__file__)

Int32 = npt.NDArray[np.int32]
Counts = npt.NDArray[np.signedinteger]  # nearly always 0 or 1, so usually in 8 bits

WHAT = ("file", "load", "ram", "count")


class SumsById(NamedTuple):
    """Sums over rows with equal id, each int64[number of ids], in the order of WHAT.

    file, load, ram: bytes
    spans:           number of spans
    """

    file: Int
    load: Int
    ram: Int
    spans: Int


class Sums(Protocol):
    """Bytes and counts of an image's owners; `what` is one of WHAT, see Ledger."""

    def column(self, what: str, room: int = 0) -> Int:
        """Return all owners' values as a new array with `room` more entries, which are 0."""
        ...

    def counts(self, room: int = 0) -> Counts:
        """Return column("count", room), perhaps in fewer bits."""
        ...

    def at(self, what: str, owners: Int) -> Int:
        """Return the values of some owners."""
        ...

    def by(self, ids: Int | Int32, count: int) -> SumsById:
        """Return the sums over owners with equal id; 0 <= ids < count."""
        ...


@dataclass(frozen=True, slots=True)
class ColumnSums:
    """Sums over columns that are in memory, one for each of WHAT."""

    columns: Mapping[str, Int]

    def column(self, what: str, room: int = 0) -> Int:
        """Return all owners' values as a new array with `room` more entries, which are 0."""
        return np.concatenate([self.columns[what], np.zeros(room, np.int64)])

    def counts(self, room: int = 0) -> Counts:
        """Return column("count", room)."""
        return self.column("count", room)

    def at(self, what: str, owners: Int) -> Int:
        """Return the values of some owners."""
        return self.columns[what][owners]

    def by(self, ids: Int | Int32, count: int) -> SumsById:
        """Return the sums over owners with equal id; 0 <= ids < count."""
        return SumsById(*(sum_by(self.columns[what], ids, count) for what in WHAT))


def sum_by(column: Int, ids: Int | Int32, count: int, *, has_none: bool = False) -> Int:
    """Sum a column over entries with equal id: int64[count].

    has_none: whether entries with the id -1 belong to no sum. Raises IndexError for other ids that
    are not one of `count`, so that no value is lost.
    """
    sums = np.zeros(count, np.int64)
    values = np.ascontiguousarray(column, np.int64)
    is_wide = ids.dtype != np.int32
    of = np.ascontiguousarray(ids, np.int64 if is_wide else np.int32)
    if len(values) != len(of):
        raise ValueError(f"{len(values)} values have {len(of)} ids")
    done = _CODE.call("sum_by", values, of, int(is_wide), int(has_none), len(of), sums, count)
    if done < 0:
        raise IndexError(f"id {ids[-1 - done]} is not one of {count}")
    return sums
