"""Test that overlapping ranges are cut into disjoint ones.

Each place keeps its strongest claim, as in a loop over all places.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.ledger.elf.owner_table import disjoint

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20), st.integers(0, 3)), max_size=14)


@given(RANGES)
def test_disjoint_ranges_are_those_that_painting_gives(ranges: list[tuple[int, int, int]]) -> None:
    ranges.sort()
    start = np.array([low for low, _, _ in ranges], np.int64)
    end = start + np.array([size for _, size, _ in ranges], np.int64)
    weakness = np.array([weak for _, _, weak in ranges], np.int64)
    low, high, which = disjoint(start, end, lambda: (weakness,))

    assert (low < high).all() and (high[:-1] <= low[1:]).all()
    cut = {
        place: int(row) for a, b, row in zip(low, high, which, strict=True) for place in range(a, b)
    }
    painted = {}
    for place in range(100):
        over = [i for i in range(len(ranges)) if start[i] <= place < end[i]]
        if over:
            painted[place] = min(over, key=lambda i: (weakness[i], start[i], i))
    assert cut == painted
