"""The bytes of each symbol in each group of rows, to find symbols that moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.columns.label import Label
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.diff.symbol_keys import UsedNames

Ids = npt.NDArray[np.signedinteger]


@dataclass(frozen=True, slots=True)
class Holdings:
    """Bytes of each symbol in each group, as columns; a pair may occur twice.

    symbol: an index into names.
    """

    symbol: Int32
    group: Int32
    size: npt.NDArray[np.unsignedinteger]
    names: UsedNames


class HeldBytes:
    """Collects the bytes of symbols in groups, a batch of rows at a time.

    Most symbols are in one group: the 2,489,651 loaded rows of libtorch_cpu.so have 441,959 symbols
    and 507,004 pairs. So each symbol's first group has a place in a table, and only the rows in
    other groups are collected.
    """

    def __init__(self, symbols: int) -> None:
        """Prepare for a number of symbols."""
        self._group = np.full(symbols, -1, np.int32)
        self._size = np.zeros(symbols, np.int64)
        self._others: list[tuple[Int32, Ids, Int]] = []

    def add(self, symbol: Int32, group: Ids, size: Int) -> None:
        """Add rows with bytes."""
        first = self._group[symbol]
        new = np.flatnonzero(first < 0)
        if len(new):
            self._group[symbol[new]] = group[new]
            first = self._group[symbol]
        other = np.flatnonzero(first != group)
        np.add.at(self._size, symbol, size)
        if len(other):
            self._others.append((symbol[other], group[other], size[other]))
            np.subtract.at(self._size, *self._others[-1][::2])

    def holdings(self, symbols: Label, used: Int, groups: int) -> Holdings:
        """Return the bytes of each symbol in each of the used groups.

        used: the groups with bytes, of all `groups`; they are renumbered in this order

        Rows without a symbol's name are left out: they are empty or describe bytes in parentheses,
        which do not move.
        """
        is_name = np.concatenate([_are_names(table) for table in symbols.texts.tables()])
        known = np.flatnonzero((self._group >= 0) & is_name)
        place = np.zeros(len(is_name), np.int32)
        place[known] = np.arange(len(known))
        number = np.zeros(groups, np.int32)
        number[used] = np.arange(len(used))
        symbol, group, size = [place[known]], [number[self._group[known]]], [self._size[known]]
        for some, of, held in self._others:
            named = np.flatnonzero(is_name[some])
            symbol.append(place[some[named]])
            group.append(number[of[named]])
            size.append(held[named])
        bytes_ = np.concatenate(size)
        # As narrow as possible, since they stay in memory while the other image is read.
        narrow = bytes_.astype(np.min_scalar_type(int(bytes_.max(initial=0))))
        return Holdings(
            np.concatenate(symbol), np.concatenate(group), narrow, UsedNames.of(symbols, known)
        )


def _are_names(texts: Texts) -> npt.NDArray[np.bool_]:
    """Check which texts are names of symbols: not empty, and not in parentheses."""
    is_name = np.zeros(len(texts), np.bool_)
    filled = np.flatnonzero(texts.end > texts.start)
    is_name[filled] = texts.buffer[texts.start[filled]] != ord("(")
    return is_name
