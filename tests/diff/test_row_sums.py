"""Sums of rows by group and by symbol, compared with plain loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.label import Label
from sizeguard.columns.texts import Texts
from sizeguard.diff.holdings import holdings
from sizeguard.diff.side import amounts_of

KINDS = ("code", "padding", "page slack", "unwind", "data")
SYMBOLS = ("f", "g", "", "(gaps)", "h.cold")
GROUPS = 4

# Rows of kind, symbol, group, bytes and instances.
ROWS = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.sampled_from(SYMBOLS),
        st.integers(0, GROUPS - 1),
        st.sampled_from([0, 0, 1, 7, 300, 1 << 40]),
        st.integers(0, 3),
    ),
    max_size=30,
)
Row = tuple[str, str, int, int, int]


def label(values: list[str], known: tuple[str, ...]) -> Label:
    return Label(np.array(list(map(known.index, values)), np.int32), Texts.of(known))


def column(rows: list[Row], at: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.array([row[at] for row in rows], dtype)


@given(ROWS, st.sampled_from([np.int8, np.int16, np.int64]))
def test_amounts_of_groups_are_those_of_a_loop(rows: list[Row], counts: type[np.integer]) -> None:
    expected = [[0] * GROUPS for _ in range(3)]
    for kind, _, group, size, count in rows:
        expected[0][group] += size
        expected[1][group] += count if size and kind in {"code", "data"} else 0
        expected[2][group] += size if kind in {"padding", "page slack"} else 0
    found = amounts_of(
        label([row[0] for row in rows], KINDS),
        column(rows, 4, counts),
        column(rows, 3, np.int64),
        column(rows, 2, np.int32),
        GROUPS,
    )
    assert [found.size.tolist(), found.instances.tolist(), found.padding.tolist()] == expected


@given(ROWS)
def test_bytes_of_symbols_in_groups_are_those_of_a_loop(rows: list[Row]) -> None:
    expected: Counter[tuple[str, int]] = Counter()
    for _, symbol, group, size, _ in rows:
        if size and symbol and not symbol.startswith("("):
            expected[symbol, group] += size
    used = sorted({group for _, _, group, size, _ in rows if size})
    symbols = label([row[1] for row in rows], SYMBOLS)
    found = holdings(
        symbols,
        column(rows, 2, np.int32),
        column(rows, 3, np.int64),
        np.array(used, np.int64),
        GROUPS,
    )
    names = [name for table in found.names.tables for name in table.all_raw()]
    sums: defaultdict[tuple[str, int], int] = defaultdict(int)
    for symbol, group, size in zip(
        found.symbol.tolist(), found.group.tolist(), found.size.tolist(), strict=True
    ):
        sums[names[symbol].decode(), used[group]] += size
    assert sums == expected


def test_rows_outside_of_all_groups_are_not_summed() -> None:
    kinds, count = label(["code", "code"], KINDS), np.ones(2, np.int8)
    size, nothing = np.array([1, 2]), np.zeros(0, np.int64)
    for group in (-1, GROUPS):
        with pytest.raises(IndexError, match="row 1 has no group"):
            amounts_of(kinds, count, size, np.array([0, group], np.int32), GROUPS)
    wrong = Label(np.array([0, len(KINDS)], np.int32), kinds.texts)
    with pytest.raises(IndexError, match="row 1 has no group or kind"):
        amounts_of(wrong, count, size, np.zeros(2, np.int32), GROUPS)
    with pytest.raises(IndexError, match="row 1 has no symbol"):
        holdings(wrong, np.zeros(2, np.int32), size, nothing, GROUPS)
