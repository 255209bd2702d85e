"""Column operations against plain loops: orders, groups, distinct values, hashes of strings."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.distinct import distinct, without
from sizeguard.columns.pack import pack
from sizeguard.columns.sort import descending, hash_order, lexical_order, packed_order
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Texts

# Small numbers repeat; large ones leave no room for an index in 64 bits.
NUMBERS = st.lists(st.one_of(st.integers(-9, 9), st.integers(-(1 << 61), 1 << 61)), max_size=40)
SIZES = st.lists(st.one_of(st.integers(0, 9), st.integers(0, 1 << 62)), max_size=40)
# Hashes with equal high bits, with equal low bits, and arbitrary ones.
HASHES = st.lists(
    st.one_of(
        st.integers(0, 9), st.integers(0, 9).map(lambda n: n << 58), st.integers(0, (1 << 64) - 1)
    ),
    max_size=40,
)
ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([0, 1, 2**30])), max_size=40
)
# Strings of no word, one word and several words, and strings too long to be hashed at once.
STRINGS = st.lists(
    st.one_of(
        st.text("ab\0", max_size=20),
        st.sampled_from(["a" * 4096, "a" * 4097, "ba" * 3000, "a" * 5999 + "b"]),
    ),
    max_size=20,
)


@given(NUMBERS)
def test_packed_order_is_the_stable_order(keys: list[int]) -> None:
    order = packed_order(np.array(keys, np.int64)).tolist()
    assert order == sorted(range(len(keys)), key=keys.__getitem__)


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers()), max_size=20))
def test_the_last_key_of_a_lexical_order_counts_most(rows: list[tuple[int, int, int]]) -> None:
    keys = [np.array([row[i] % 1000 for row in rows], np.int64) for i in range(3)]
    assert lexical_order(keys).tolist() == np.lexsort(keys).tolist()


@given(SIZES)
def test_descending_is_the_stable_order_from_the_largest(sizes: list[int]) -> None:
    order = descending(np.array(sizes, np.int64)).tolist()
    assert order == sorted(range(len(sizes)), key=lambda i: -sizes[i])


@given(HASHES)
def test_hash_order_is_the_stable_order(hashes: list[int]) -> None:
    order = hash_order(np.array(hashes, np.uint64)).tolist()
    assert order == sorted(range(len(hashes)), key=hashes.__getitem__)


@given(NUMBERS)
def test_distinct_values_are_a_sorted_set(values: list[int]) -> None:
    column = np.array(values, np.int64)
    assert distinct(column).tolist() == sorted(set(values))


@given(NUMBERS, NUMBERS)
def test_values_without_others_are_the_difference_of_sets(
    values: list[int], others: list[int]
) -> None:
    found = without(np.array(values, np.int64), np.array(others, np.int64))
    assert found.tolist() == sorted(set(values) - set(others))


@given(ROWS)
def test_equal_entries_are_packed_into_one_row(entries: list[tuple[int, int, int]]) -> None:
    columns = [np.array([entry[i] for entry in entries], np.int32) for i in range(3)]
    row, one_of = pack(columns)
    numbers = {entry: number for number, entry in enumerate(sorted(set(entries)))}
    assert row.tolist() == [numbers[entry] for entry in entries]
    assert [entries[i] for i in one_of.tolist()] == sorted(set(entries))


@given(STRINGS)
def test_equal_strings_have_equal_hashes_wherever_they_stand(strings: list[str]) -> None:
    together = hash_texts(Texts.of(strings)).tolist()
    assert together == [int(hash_texts(Texts.of([text]))[0]) for text in strings]
    assert len(set(together)) == len(set(strings))
