"""Test the names and targets of relocations against a plain loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.texts import Int, Int32
from sizeguard.formats.elf import Relocations
from sizeguard.ledger.elf.relocation_holders import _targets
from sizeguard.ledger.ledger import NONE


@dataclass
class Linked:
    """The columns of a symbol table that targets need."""

    address: Int
    section: Int32

    def __len__(self) -> int:
        return len(self.address)


NUMBERS = st.integers(-9, 9)


@given(
    st.lists(st.tuples(st.integers(-2, 6), NUMBERS), max_size=8),
    st.lists(st.tuples(NUMBERS, st.integers(-3, 5)), min_size=1, max_size=5),
    st.lists(NUMBERS, max_size=4),
)
def test_targets_are_those_of_a_loop(
    entries: list[tuple[int, int]], symbols: list[tuple[int, int]], bases: list[int]
) -> None:
    index, addend = np.array(entries, np.int64).reshape(-1, 2).T.copy()
    address, section = np.array(symbols, np.int64).reshape(-1, 2).T.copy()
    kinds = np.zeros(len(index), np.uint32)
    relocations = Relocations(index, kinds, index, addend, index, index)
    ids = np.arange(len(address), dtype=np.int32) + 100
    linked = Linked(address, section.astype(np.int32))
    names, targets = _targets(
        relocations,
        linked,  # type: ignore[arg-type]
        ids,
        np.array(bases, np.int64),
    )
    expected = []
    for row, value in entries:
        if not 0 < row < len(symbols):
            expected.append((NONE, value))
            continue
        place, home = symbols[row]
        base = bases[home] if 0 < home < len(bases) else 0
        expected.append((100 + row, value + place + base))
    assert list(zip(names.tolist(), targets.tolist(), strict=True)) == expected
