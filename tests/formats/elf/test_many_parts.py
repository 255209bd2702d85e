"""ELF files with so many parts that each must not be compared with each."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.formats.elf import parse_elf
from sizeguard.ledger.elf import elf_ledger
from tests.support.images.made_elf import (
    ET_REL,
    SHT_STRTAB,
    SHT_SYMTAB,
    Form,
    MadeSection,
    MadeSegment,
    MadeSymbol,
    make_elf,
)

MANY, LONGEST = 12_000, 10.0  # seconds; without care each takes more than 30
NOBITS, NOTE = 8, 7


def test_zeros_of_many_segments_are_found_in_many_sections() -> None:
    sections = [
        MadeSection(".a", NOBITS, flags=3, address=0x10000000 + 0x1000 * i, size=16)
        for i in range(MANY)
    ]
    segments = [MadeSegment(0, 0x10000000 + 0x1000 * i, 0, 24, flags=6) for i in range(MANY)]
    data = make_elf(Form(), sections, segments)
    start = time.monotonic()
    elf = parse_elf(Path("x"), data)
    assert elf.ram == 24 * MANY
    ledger = elf_ledger(elf)
    assert ledger.memory.size.sum() == 24 * MANY
    assert time.monotonic() - start < LONGEST


def test_notes_that_many_segments_share_are_read_once() -> None:
    notes = struct.pack("<III", 0, 0, 7) * 100_000
    at = 64 + 56 * 3_000
    segments = [MadeSegment(at, 0, len(notes), len(notes), type=4) for _ in range(3_000)]
    data = make_elf(Form(), [MadeSection(".notes", content=notes)], segments)
    start = time.monotonic()
    assert parse_elf(Path("x"), data).build_id == ""
    assert time.monotonic() - start < LONGEST


@pytest.mark.parametrize("type_", [1, 2, 4, NOTE])
def test_sections_that_share_their_bytes_are_refused(type_: int) -> None:
    """3,000 symbol tables over the same 1.2 MB took more than 6 GB of memory."""
    first = MadeSection(".first", type_, content=bytes(1_200_000))
    others = [MadeSection(".other", type_, offset=64, size=1_200_000) for _ in range(3_000)]
    with pytest.raises(InputError, match=r"sections of 36012\d{5} bytes in 1\d{6} bytes"):
        parse_elf(Path("x"), make_elf(Form(), [first, *others]))


def test_common_symbols_larger_than_any_memory_are_refused() -> None:
    """Their sum did not fit 64 bits, so an object of 600 bytes could have any `ram`."""
    table, names = Form().symbols([MadeSymbol(f"c{i}", 8, 1 << 62, 1, 1, 0xFFF2) for i in range(5)])
    sections = [
        MadeSection(".text", flags=6, content=bytes(16)),
        MadeSection(".symtab", SHT_SYMTAB, content=table, link=3, entry_size=24),
        MadeSection(".strtab", SHT_STRTAB, content=names),
    ]
    elf = parse_elf(Path("x"), make_elf(Form(), sections, type_=ET_REL))
    with pytest.raises(InputError, match="common symbols of 23058430092136939520 bytes"):
        elf_ledger(elf)
