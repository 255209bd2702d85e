"""The bytes of each symbol in each group of rows, to find symbols that moved."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.label import Label
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.diff.symbol_keys import UsedNames

_CODE = compiled_beside(__file__)


@dataclass(frozen=True, slots=True)
class Holdings:
    """Bytes of each symbol in each group, as columns; a pair may occur twice.

    symbol: an index into names.
    """

    symbol: Int32
    group: Int32
    size: npt.NDArray[np.unsignedinteger]
    names: UsedNames


def holdings(symbols: Label, group: Int32, size: Int, used: Int, groups: int) -> Holdings:
    """Sum the bytes of each symbol in each of the used groups.

    group, size: by row; used: the groups with bytes, of all `groups`; they are renumbered in this
    order

    Most symbols are in one group: the 2,489,651 loaded rows of libtorch_cpu.so have 441,959 symbols
    and 507,004 pairs. So each symbol's first group has a place in a table, and only the rows in
    other groups are listed.

    Rows without a symbol's name are left out: they are empty or describe bytes in parentheses,
    which do not move.
    """
    first, held, (other, other_group, other_size) = _held(symbols, group, size)
    is_name = np.concatenate([_are_names(table) for table in symbols.texts.tables()])
    known = np.flatnonzero((first >= 0) & is_name)
    place = np.zeros(len(is_name), np.int32)
    place[known] = np.arange(len(known))
    number = np.zeros(groups, np.int32)
    number[used] = np.arange(len(used))
    named = np.flatnonzero(is_name[other])
    bytes_ = np.concatenate([held[known], other_size[named]])
    # As narrow as possible, since they stay in memory while the other image is read.
    return Holdings(
        np.concatenate([place[known], place[other[named]]]),
        number[np.concatenate([first[known], other_group[named]])],
        bytes_.astype(np.min_scalar_type(int(bytes_.max(initial=0)))),
        UsedNames.of(symbols, known),
    )


def _held(symbols: Label, group: Int32, size: Int) -> tuple[Int32, Int, tuple[Int32, Int32, Int]]:
    """Return each symbol's first group, its bytes there, and the rows in other groups.

    These rows are columns: symbol, group, and bytes. The group of a symbol without bytes is -1.
    """
    count = len(symbols.texts)
    first, held = np.full(count, -1, np.int32), np.zeros(count, np.int64)
    other, of = np.empty((2, len(size)), np.int32)
    sizes = np.empty(len(size), np.int64)
    ids, group = (np.ascontiguousarray(column, np.int32) for column in (symbols.ids, group))
    found = _CODE.call(
        "hold_rows", len(size), ids, count, group, size, first, held, other, of, sizes
    )
    if found < 0:
        raise IndexError(f"row {-1 - found} has no symbol or group")
    return first, held, (other[:found], of[:found], sizes[:found])


def _are_names(texts: Texts) -> npt.NDArray[np.bool_]:
    """Check which texts are names of symbols: not empty, and not in parentheses."""
    is_name = np.zeros(len(texts), np.bool_)
    filled = np.flatnonzero(texts.end > texts.start)
    is_name[filled] = texts.buffer[texts.start[filled]] != ord("(")
    return is_name
