"""Turns the bytes of owners into sums: of each owner, or of all that have the same label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sizeguard.formats.texts import Int

Int32 = npt.NDArray[np.int32]

WHAT = ("file", "load", "ram", "count")


class Sums(Protocol):
    """Of an image's owners; what: one of WHAT, see Ledger."""

    def column(self, what: str, room: int = 0) -> Int:
        """Of each owner, a new array with room for so many more entries, which are 0."""
        ...

    def at(self, what: str, owners: Int) -> Int:
        """Of some owners."""
        ...

    def by(self, ids: Int | Int32, count: int) -> tuple[Int, Int, Int, Int]:
        """In the order of WHAT, the sums of all owners with the same id; 0 <= ids < count."""
        ...


@dataclass(frozen=True, slots=True)
class ColumnSums:
    """Of columns that are there."""

    columns: Mapping[str, Int]

    def column(self, what: str, room: int = 0) -> Int:
        return np.concatenate([self.columns[what], np.zeros(room, np.int64)])

    def at(self, what: str, owners: Int) -> Int:
        return self.columns[what][owners]

    def by(self, ids: Int | Int32, count: int) -> tuple[Int, Int, Int, Int]:
        file, load, ram, spans = (sum_by(self.columns[what], ids, count) for what in WHAT)
        return file, load, ram, spans


def sum_by(column: Int, ids: Int | Int32, count: int) -> Int:
    sums = np.zeros(count, np.int64)
    np.add.at(sums, ids, column)
    return sums
