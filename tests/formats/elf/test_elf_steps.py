"""Test steps of the ELF reader on columns against plain loops: strings, RELR, CREL."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.base.errors import InputError
from sizeguard.formats.elf import parse_elf
from sizeguard.formats.elf.layout import Layout
from sizeguard.formats.elf.relocations import read_crel, read_relr
from sizeguard.formats.elf.symbols import distinct_strings
from tests.support.images.made_elf import SHT_STRTAB, Form, MadeSection, MadeSymbol, make_elf

# Many strings share the end of another one, and the last may lack its NUL.
TABLES = st.lists(st.sampled_from(b"ab\0"), min_size=1, max_size=40).map(bytes)


@given(TABLES, st.data())
def test_distinct_strings_end_at_the_next_nul(table: bytes, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(table)), max_size=12))
    found = distinct_strings(np.frombuffer(table, np.uint8), np.array(places, np.int64))
    ends = {at: table.find(b"\0", at) for at in sorted(set(places))}
    strings = [(at, len(table) if end < 0 else end) for at, end in ends.items()]
    assert list(zip(found.start.tolist(), found.end.tolist(), strict=True)) == strings
    assert found.which.tolist() == [list(ends).index(at) for at in places]


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


# .crel.text.main of a program of 340 bytes, by clang 19 with -Wa,--crel.
CREL = bytes.fromhex(
    "7497052e047cf90101c90301cb01787e5301027308262b015a7b567e2b2b02d90101eb01557e2b2c02d1017f4102"
)


def test_compact_relocations_are_those_that_clang_writes() -> None:
    """The numbers are those of llvm-readelf -r."""
    data = np.frombuffer(b"before" + CREL + b"after", np.uint8)
    table = read_crel(Path("a.o"), data, Layout(True, "<"), 6, len(CREL))
    places = [82, 113, 170, 195, 205, 219, 224, 239, 244, 271, 300, 305, 331, 339]
    assert table.offset.tolist() == places
    assert table.type.tolist() == [4, 4, 4, 2, 4, 42, 4, 2, 4, 4, 2, 4, 4, 4]
    assert table.symbol.tolist() == [46, 47, 48, 40, 41, 49, 50, 8, 51, 52, 9, 53, 52, 54]
    assert table.addend.tolist() == [-4] * 14
    assert table.end[-1] == 6 + len(CREL)
    assert table.start.tolist() == [7, *table.end[:-1].tolist()]


@pytest.mark.parametrize("size", range(len(CREL)))
def test_cut_compact_relocations_are_refused(size: int) -> None:
    data = np.frombuffer(CREL, np.uint8)
    with pytest.raises(InputError, match=r"compact relocations in|are damaged at"):
        read_crel(Path("a.o"), data, Layout(True, "<"), 0, size)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 1 << 40),
            st.integers(0, (1 << 32) - 1),
            st.integers(0, (1 << 32) - 1),
            st.integers(-(1 << 63), (1 << 63) - 1),
        )
    ),
    st.booleans(),
    st.integers(0, 3),
)
def test_compact_relocations_read_back(
    rows: list[tuple[int, int, int, int]], has_addend: bool, scale: int
) -> None:
    """Write the differences as the proposal for CREL says."""
    flags = 3 if has_addend else 2
    data = uleb(len(rows) << 3 | (4 if has_addend else 0) | scale)
    before = (0, 0, 0, 0)
    for row in sorted(rows):
        place, symbol, type_, addend = (b - a for a, b in zip(before, row, strict=True))
        first = (symbol != 0) | (type_ != 0) << 1 | (has_addend and addend != 0) << 2
        if place < 1 << (7 - flags):
            data += bytes([place << flags | first])
        else:
            low = place % (1 << (7 - flags))
            data += bytes([0x80 | low << flags | first]) + uleb(place >> (7 - flags))
        data += sleb(symbol) if symbol else b""
        data += sleb(type_) if type_ else b""
        data += sleb(addend) if has_addend and addend else b""
        before = row
    table = read_crel(Path("a.o"), np.frombuffer(data, np.uint8), Layout(True, "<"), 0, len(data))
    columns = (table.offset >> scale, table.symbol, table.type, table.addend)
    found = list(zip(*(column.tolist() for column in columns), strict=True))
    assert found == [(*row[:3], row[3] if has_addend else 0) for row in sorted(rows)]


def uleb(value: int) -> bytes:
    digits = [value >> 7 * i & 127 for i in range(max(1, -(-value.bit_length() // 7)))]
    return bytes([*(digit | 128 for digit in digits[:-1]), digits[-1]])


def sleb(value: int) -> bytes:
    count = value.bit_length() // 7 + 1
    digits = [value >> 7 * i & 127 for i in range(count)]
    return bytes([*(digit | 128 for digit in digits[:-1]), digits[-1]])


def test_dynamic_symbols_belong_to_sections_by_their_addresses() -> None:
    """objcopy -R renumbers the sections, but not in .dynsym: 2 was .text and 3 was .data."""
    form = Form()
    rows = [
        MadeSymbol("stale", 0x1000, 16, section=2),
        MadeSymbol("data", 0x2000, 8, type=1, section=3),
        MadeSymbol("lost", 0x2008, 4, type=1, section=99),
        MadeSymbol("right", 0x1010, 16, section=1),
        MadeSymbol("end", 0x2010, 0, type=0, section=2),
        MadeSymbol("VERS_1", 0, 0, type=1, section=0xFFF1),
        MadeSymbol("imported", 0, 0, section=0),
        MadeSymbol("of_thread", 0x1000, 4, type=6, section=2),
    ]
    table, strings = form.symbols(rows)
    sections = [
        MadeSection(".text", flags=6, address=0x1000, content=bytes(32)),
        MadeSection(".data", flags=3, address=0x2000, content=bytes(16)),
        MadeSection(".dynsym", 11, content=table, link=4, info=1, entry_size=24),
        MadeSection(".dynstr", SHT_STRTAB, content=strings),
    ]
    image = parse_elf(Path("a"), make_elf(form, sections))
    found = {symbol.name: symbol.section for symbol in image.symbols if symbol.name}
    assert found == {
        "stale": 1,
        "data": 2,
        "lost": 2,
        "right": 1,
        "end": 2,
        "VERS_1": 0xFFF1 - 0x10000,
        "imported": 0,
        "of_thread": 2,
    }
