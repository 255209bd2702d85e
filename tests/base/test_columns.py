"""Column operations against plain loops: orders, groups, distinct values, hashes of strings."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.distinct import distinct, without
from sizeguard.columns.family_parts import family_parts
from sizeguard.columns.pack import pack
from sizeguard.columns.sort import descending, hash_order, lexical_order, packed_order
from sizeguard.columns.sums import sum_by
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

# Lengths around those of a word and of a piece of 512 words.
LENGTHS = st.one_of(
    st.integers(0, 40), st.sampled_from([4087, 4088, 4089, 4096, 4097, 4104, 8192, 8193])
)
WRAP = (1 << 64) - 1


def mixed(value: int) -> int:
    for _ in range(2):
        value = (value ^ value >> 32) * 0xD6E8FEB86659FD93 & WRAP
    return value ^ value >> 32


def sum_of(words: list[bytes], seed: int) -> int:
    """Return the sum of words, each mixed with its place."""
    total = 0
    for i, word in enumerate(words, 1):
        place = i * 0x9E3779B97F4A7C15 & WRAP
        factor = (place ^ place >> 29) * 0xBF58476D1CE4E5B9 & WRAP | 1
        value = (int.from_bytes(word, "little") ^ (place + seed) & WRAP) * 0xD6E8FEB86659FD93 & WRAP
        total += (value ^ value >> 32) * factor
    return total & WRAP


def hash_of(text: bytes) -> int:
    """Hash one string in plain Python."""
    total = 0
    if len(text) <= 4096:
        words = [text[i : i + 8] for i in range(0, len(text), 8)]
        total = sum_of([*words[:-1], text[-8:]] if words else [], 0)
    else:
        for number, low in enumerate(range(0, len(text), 4096), 1):
            piece = text[low : low + 4096]
            words = [piece[i : i + 8] for i in range(0, len(piece), 8)]
            total = total * 0xD6E8FEB86659FD93 + mixed(sum_of(words, number))
    return mixed(total + len(text) * 0xA0761D6478BD642F & WRAP)


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


@given(st.lists(LENGTHS, max_size=6), st.randoms(use_true_random=False))
def test_hashes_are_those_of_plain_python(lengths: list[int], random: Random) -> None:
    strings = [random.randbytes(length) for length in lengths]
    assert hash_texts(Texts.of(strings)).tolist() == [hash_of(text) for text in strings]


def part_of(name: bytes) -> bytes:
    """Return the part of a name that its family shares, by regular expressions."""
    suffixes = rb"(?s:(?<=.))(\.cold|\.(isra|part|constprop)\.\d{1,6}|\.localalias)+\Z"
    head = re.sub(suffixes, b"", name)
    head = re.sub(rb"\A(_ZN(?s:.*)D)[012]Ev\Z", rb"\1", head)
    return re.sub(rb"\A_ZT[VIS](?=[NSZ](?s:.{3}))", b"", head)


WORDS = [
    b".cold", b".part.", b".isra.", b".constprop.", b".localalias", b"0", b"12", b"123456", b".",
    b"_ZN", b"_ZTV", b"_ZTT", b"_ZTS", b"N1a", b"D0Ev", b"D3Ev", b"D2E", b"Ev", b"f", b"\n",
]  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(b"".join), max_size=8))
def test_parts_of_families_are_those_of_regular_expressions(names: list[bytes]) -> None:
    texts = Texts.of(names)
    parts = family_parts(texts)
    assert parts.all_raw() == list(map(part_of, names))
    assert (texts.start <= parts.start).all()
    assert (parts.end <= texts.end).all()


@pytest.mark.parametrize("read", [hash_texts, family_parts])
@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 4), (4, 4)])
def test_a_string_outside_of_its_buffer_is_not_read(
    read: Callable[[Texts], object], start: int, end: int
) -> None:
    buffer = np.frombuffer(b"abc", np.uint8)
    texts = Texts(buffer, np.array([0, start]), np.array([3, end]))
    with pytest.raises(IndexError, match="text 1 is outside"):
        read(texts)


@given(
    st.lists(st.tuples(st.integers(-(1 << 60), 1 << 60), st.integers(-1, 4)), max_size=30),
    st.booleans(),
)
def test_sums_by_id_are_those_of_a_loop(entries: list[tuple[int, int]], is_narrow: bool) -> None:
    expected = [0] * 5
    for value, at in entries:
        expected[at] += value if at >= 0 else 0
    column = np.array([value for value, _ in entries], np.int64)
    ids = np.array([at for _, at in entries], np.int64)
    ids = ids.astype(np.int32) if is_narrow else ids
    found = sum_by(column, ids, 5, has_none=True)
    assert found.tolist() == expected


def test_ids_of_sums_have_to_be_known() -> None:
    ids = np.array([0, 3], np.int64)
    with pytest.raises(IndexError, match="id 3 is not one of 3"):
        sum_by(np.ones(2, np.int64), ids, 3)
    with pytest.raises(IndexError, match="id 3 is not one of 3"):
        sum_by(np.ones(2, np.int64), ids.astype(np.int32), 3, has_none=True)
    with pytest.raises(IndexError, match="id -1 is not one of 3"):
        sum_by(np.ones(2, np.int64), np.array([0, -1]), 3)
    with pytest.raises(IndexError, match="id -2 is not one of 3"):
        sum_by(np.ones(2, np.int64), np.array([0, -2]), 3, has_none=True)
    with pytest.raises(ValueError, match="2 values have 1 ids"):
        sum_by(np.ones(2, np.int64), np.zeros(1, np.int64), 3)
