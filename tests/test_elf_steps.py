"""Test steps of the ELF reader on columns against plain loops: string ends, RELR."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.formats.elf.layout import Layout
from sizeguard.formats.elf.relocations import read_relr
from sizeguard.formats.elf.symbols import string_ends

# Many strings share the end of another one, and the last may lack its NUL.
TABLES = st.lists(st.sampled_from(b"ab\0"), min_size=1, max_size=40).map(bytes)


@given(TABLES, st.data())
def test_strings_end_at_the_next_nul(table: bytes, data: st.DataObject) -> None:
    low = data.draw(st.integers(0, len(table)))
    places = data.draw(st.sets(st.integers(low, len(table))))
    start = np.array(sorted(places), np.int64)
    ends = string_ends(np.frombuffer(table, np.uint8), low, start).tolist()
    assert ends == [
        table.index(b"\0", at) if b"\0" in table[at:] else len(table) for at in sorted(places)
    ]


# Even words are addresses, odd words are bitmaps.
WORDS = st.lists(
    st.one_of(
        st.integers(0, 1000).map(lambda n: 8 * n), st.integers(0, 0xFFFF).map(lambda n: n | 1)
    ),
    max_size=8,
)


@given(WORDS, st.sampled_from([True, False]))
def test_relr_words_are_addresses_and_bitmaps(words: list[int], is_64: bool) -> None:
    width = 8 if is_64 else 4
    places: list[int] = []
    where = None
    shares: list[int] = []
    for word in words:
        before = len(places)
        if word % 2 == 0:
            places.append(word)
            where = word + width
        elif where is not None:
            places += [where + width * bit for bit in range(8 * width - 1) if word >> (bit + 1) & 1]
            where += width * (8 * width - 1)
        many = len(places) - before
        shares += [width // many + (i < width % many) for i in range(many)]
    data = b"".join(word.to_bytes(width, "little") for word in words)
    table = read_relr(np.frombuffer(data, np.uint8), Layout(is_64, "<"), 0, len(data))
    assert table.offset.tolist() == places
    assert (table.end - table.start).tolist() == shares
    assert (table.start[1:] >= table.end[:-1]).all()
