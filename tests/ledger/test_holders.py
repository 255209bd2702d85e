"""Test that the row over an address is the one that a plain loop finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.texts import Texts
from sizeguard.ledger.elf.content import _classes
from sizeguard.ledger.elf.owner_table import Holders
from sizeguard.ledger.kinds import KIND
from sizeguard.ledger.ledger import NONE

# Sections: bytes without an address before each, and the sizes of its rows.
SECTIONS = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.integers(1, 5), max_size=9)), max_size=5
)


@given(SECTIONS, st.booleans(), st.integers(-20, 20), st.data())
def test_rows_are_found_by_address(
    sections: list[tuple[int, list[int]]], is_wide: bool, base: int, data: st.DataObject
) -> None:
    rows: list[tuple[int, int]] = []  # addresses
    table, starts = [], []
    place, address = 7, base
    for gap, sizes in sections:
        address += gap
        table.append((address, sum(sizes), place, len(rows)))
        for size in sizes:
            starts.append(place)
            rows.append((address, address + size))
            place += size
            address += size
    columns = np.array(table, np.int64).reshape(-1, 4).T.copy()
    first = np.append(columns[3], len(rows))
    symbol = np.arange(len(rows), dtype=np.int32) * 3
    start = np.array(starts, np.int64 if is_wide else np.int32)
    holders = Holders(*columns[:3], first, start, symbol, symbol + 1, None, symbol + 2)
    wanted = data.draw(st.lists(st.integers(base - 5, address + 5), max_size=20))
    expected = [
        next((i for i, (low, high) in enumerate(rows) if low <= at < high), NONE) for at in wanted
    ]
    found = holders.rows_at(np.array(wanted, np.int64))
    assert found.tolist() == expected
    held = holders.columns(found)
    assert held["input"] == NONE
    for i, name in enumerate(("symbol", "group", "part")):
        values = np.full(len(found), held[name]).tolist() if not rows else held[name].tolist()
        assert values == [NONE if row < 0 else 3 * row + i for row in expected]


NAMES = [
    "",
    "_ZT",
    "_ZTV",
    "_ZTV1a",
    "_ZTT1a",
    "_ZTI1a",
    "_ZTS1a",
    "_ZTC1a",
    "_Z1a",
    "main",
    "ZTVa",
]


@given(st.lists(st.tuples(st.sampled_from(["code", "data"]), st.integers(-1, len(NAMES) - 1))))
def test_kinds_of_virtual_tables_and_types_are_in_their_names(rows: list[tuple[str, int]]) -> None:
    kind = np.array([KIND[name] for name, _ in rows], np.int8)
    _classes(kind, np.array([symbol for _, symbol in rows], np.int32), Texts.of(NAMES))
    expected = []
    for name, symbol in rows:
        text = NAMES[symbol] if symbol >= 0 and name != "code" else ""
        is_table, is_type = text.startswith(("_ZTV", "_ZTT")), text.startswith(("_ZTI", "_ZTS"))
        expected.append(KIND["vtable" if is_table else "typeinfo" if is_type else name])
    assert kind.tolist() == expected
