"""Find symbols that moved from or to a changed row, with their bytes before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sizeguard.columns.pack import compact
from sizeguard.columns.ranks import rank_hashes
from sizeguard.columns.sums import sum_by
from sizeguard.columns.text_hash import MULTIPLY, SHIFT, Hash
from sizeguard.diff.alias_keys import AliasKeys
from sizeguard.diff.causes import Cells
from sizeguard.diff.holdings import Holdings
from sizeguard.diff.side import Side
from sizeguard.diff.symbol_keys import SymbolKeys

Int32 = npt.NDArray[np.int32]
Ids = npt.NDArray[np.integer]


# More than 40 lines: one chain of column operations, each on the result of the one before.
def moves(
    sides: Sequence[Side],
    at: Sequence[Int32],
    rows: int,
    aliases: Callable[[], AliasKeys | None],
) -> Cells:
    """Return the cells of symbols that are not in the same rows on both sides.

    at: the changed row of each side's groups; -1 if there is none. Symbols that did not move may be
        missing.
    """
    holdings = [side.holdings for side in sides if side.holdings is not None]
    nothing = np.zeros(0, np.int64)
    none = Cells(nothing, nothing, nothing, nothing, 0)
    if not holdings or not rows:
        return none
    names = SymbolKeys([held.names for held in holdings])
    columns = [
        _in_changed_rows(held, places, ids)
        for held, places, ids in zip(holdings, at, names.numbers, strict=True)
    ]
    before, after = (_signatures(symbol, row, names.count) for symbol, row, _ in columns)
    if np.array_equal(before, after):
        return none  # without the keys, which take as long as everything else here
    of_bytes = aliases()
    key, known = rank_hashes(names.keys() if of_bytes is None else of_bytes.apply(names.keys()))
    values = len(known)
    leaves = _summed(before, key, values) != _summed(after, key, values)
    columns = [_some(leaves, key[symbol], row, size) for symbol, row, size in columns]
    symbol, row = (
        np.concatenate([column[i] for column in columns]).astype(np.int64) for i in (0, 1)
    )
    keys = row * values + symbol
    cell, cells = compact(keys, rows * values)
    first = np.zeros(cells, np.int64)
    first[cell] = np.arange(len(cell))
    split = len(columns[0][0])
    return Cells(
        row=row[first],
        symbol=symbol[first],
        old=sum_by(columns[0][2].astype(np.int64), cell[:split], cells),
        new=sum_by(columns[1][2].astype(np.int64), cell[split:], cells),
        symbols=values,
    )


def _some(leaves: npt.NDArray[np.bool_], symbol: Int32, *columns: Ids) -> tuple[Ids, ...]:
    """Select the entries of some symbols."""
    some = np.flatnonzero(leaves[symbol])
    return (symbol[some], *(column[some] for column in columns))


def _summed(signatures: Hash, key: Int32, keys: int) -> Hash:
    """Sum the signatures of names with the same key."""
    sums = np.zeros(keys, np.uint64)
    np.add.at(sums, key, signatures)
    return sums


def _in_changed_rows(
    held: Holdings, places: Int32, numbers: Int32
) -> tuple[npt.NDArray[np.integer], ...]:
    """Return symbol, row and bytes of the holdings in changed rows.

    numbers: the symbols' numbers, common to both images.
    """
    row = places[held.group]
    taken = np.flatnonzero(row >= 0)
    return numbers[held.symbol[taken]], row[taken], held.size[taken]


def _signatures(
    symbol: npt.NDArray[np.integer], row: npt.NDArray[np.integer], symbols: int
) -> Hash:
    """Return a number for each symbol that depends on the rows it is in, and how often.

    Nearly all symbols of two builds have equal numbers, so two million pairs of libtorch_cpu.so
    need not be sorted.
    """
    mixed = (row.astype(np.uint64) + np.uint64(1)) * MULTIPLY
    mixed ^= mixed >> SHIFT
    mixed *= MULTIPLY
    mixed ^= mixed >> SHIFT
    signatures = np.zeros(symbols, np.uint64)
    np.add.at(signatures, symbol, mixed)
    return signatures
