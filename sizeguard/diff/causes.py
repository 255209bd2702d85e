"""Find the causes of changed rows from their pieces before and after."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.sums import sum_by
from sizeguard.columns.texts import Int
from sizeguard.diff.diff_result import CAUSES
from sizeguard.diff.side import Amounts

_GREW, _SHRANK, _ADDED, _REMOVED, _MORE, _FEWER, _MOVED, _PADDING = range(len(CAUSES))


@dataclass(frozen=True, slots=True)
class Cells:
    """Bytes of each symbol in each changed row, before and after, as columns.

    row, symbol, old, new: by cell; symbols: the number of symbols.
    """

    row: Int
    symbol: Int
    old: Int
    new: Int
    symbols: int


def causes(before: Amounts, after: Amounts, cells: Cells) -> npt.NDArray[np.int8]:
    """Return an index into CAUSES for each changed row.

    A diff in the other direction gives each row the mirrored cause.

    cells: at least those of symbols whose rows differ before and after.
    """
    old, new = before.size, after.size
    delta = new - old
    by_count = _counts_more_than_size(before, after)
    cause = np.where(delta > 0, _GREW, _SHRANK).astype(np.int8)
    cause[by_count & (delta > 0)] = _MORE
    cause[by_count & (delta < 0)] = _FEWER
    cause[old == 0] = _ADDED
    cause[new == 0] = _REMOVED
    cause[delta == after.padding - before.padding] = _PADDING
    moved, has_moved = _moved(cells, len(old))
    cause[has_moved & (delta == moved)] = _MOVED
    return cause


def _counts_more_than_size(before: Amounts, after: Amounts) -> npt.NDArray[np.bool_]:
    """Check where the number of instances explains more of the difference than their mean size.

    With n instances of mean size m: n2 m2 - n1 m1 = (n2 - n1) (m1 + m2) / 2 + (m2 - m1) (n1 + n2) /
    2, which is the same in both directions. Floats only decide which part is larger; bytes are
    counted as integers.
    """
    n1, n2 = before.instances, after.instances
    known = (n1 > 0) & (n2 > 0)
    m1, m2 = before.size / np.maximum(n1, 1), after.size / np.maximum(n2, 1)
    by_count = (n2 - n1) * (m1 + m2)
    by_size = (m2 - m1) * (n2 + n1)
    is_alike = np.sign(by_count) == np.sign(after.size - before.size)
    result: npt.NDArray[np.bool_] = known & (np.abs(by_count) > np.abs(by_size)) & is_alike
    return result


def _moved(cells: Cells, rows: int) -> tuple[Int, npt.NDArray[np.bool_]]:
    """Sum the bytes of symbols that left for another row or came from one, by changed row.

    Also returns whether a row has such symbols.
    """
    leaves, comes = cells.new == 0, cells.old == 0
    left = sum_by(leaves.astype(np.int64), cells.symbol, cells.symbols) > 0
    came = sum_by(comes.astype(np.int64), cells.symbol, cells.symbols) > 0
    moves = (leaves | comes) & (left & came)[cells.symbol]
    moved = sum_by(np.where(moves, cells.new - cells.old, 0), cells.row, rows)
    return moved, sum_by(moves.astype(np.int64), cells.row, rows) > 0
