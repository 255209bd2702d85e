"""PE files that no test links: long string tables, and tables designed to take long."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import numpy as np
import pytest

from sizeguard.formats.pe.reader import parse_pe
from sizeguard.formats.sectioned import CodeExtent, Start, ranges_of

SECTIONS, EXPORTS = 15_000, 40_000
HEADER = 0x40 + 24 + 240  # MZ header, PE header with 16 directories


def coff(name: bytes, strings: bytes) -> np.ndarray:
    """Make an object with one section, an empty symbol table and a string table."""
    section = struct.pack("<8sIIIIIIHHI", name, 0, 0, 4, 60, 0, 0, 0, 0, 0x42000040)
    head = struct.pack("<HHIIIHH", 0x8664, 1, 0, 64, 0, 0, 0)
    table = (len(strings) + 4).to_bytes(4, "little") + strings
    return np.frombuffer(head + section + b"1234" + table, np.uint8)


@pytest.mark.parametrize(("name", "found"), [(b"/4", ".debug_info"), (b"//AAAAAE", ".debug_info")])
def test_long_names_are_at_a_decimal_or_base_64_place(name: bytes, found: str) -> None:
    image = parse_pe(Path("x"), coff(name, b".debug_info\0"))
    assert [(part.name, part.kind) for part in image.parts if part.offset == 60] == [
        (found, "debug")
    ]


def with_many_exports() -> np.ndarray:
    """Make an image with many sections; the last one has many exports with names."""
    body = HEADER + 40 * SECTIONS
    first = 0x1000 * SECTIONS  # address of the last section
    exports = struct.pack("<16xIIIIII", 1, EXPORTS, EXPORTS, first + 40, first + 40, first + 40)
    numbers = np.full(EXPORTS, first + 8, "<u4").tobytes()
    content = exports + numbers
    pe = struct.pack("<HHIIIHH", 0x8664, SECTIONS, 0, 0, 0, 240, 0x2000)
    optional = struct.pack("<H58xI44xI", 0x20B, body, 16)
    optional += struct.pack("<II", first, len(content)) + bytes(15 * 8)
    rows = [
        struct.pack("<8sIIIIIIHHI", b".s", 8, 0x1000 * i, 8, body, 0, 0, 0, 0, 0x40000040)
        for i in range(1, SECTIONS)
    ]
    last = (b".edata", len(content), first, len(content), body)
    rows.append(struct.pack("<8sIIIIIIHHI", *last, 0, 0, 0, 0, 0x40000040))
    mz = b"MZ" + bytes(58) + (0x40).to_bytes(4, "little")
    return np.frombuffer(mz + b"PE\0\0" + pe + optional + b"".join(rows) + content, np.uint8)


def test_many_exports_in_many_sections_are_read_in_seconds() -> None:
    start = time.monotonic()
    image = parse_pe(Path("x"), with_many_exports())
    assert time.monotonic() - start < 10
    assert image.kind == "shared library"


def test_an_export_names_no_more_than_its_function() -> None:
    """Without symbols, only an unwind table says where a function ends; nothing does for data."""
    function = [CodeExtent(0x20, 0x30)]
    starts = [Start(0x10, b"data", is_open=True), Start(0x20, b"code", is_open=True)]
    rows = ranges_of(0, 0x50, [*starts, Start(0x40, b"symbol")], function, 0x1000)
    assert [(row.start, row.end, row.names, row.without) for row in rows] == [
        (0x10, 0x20, (), b"data and what follows"),
        (0x20, 0x30, (b"code",), b""),
        (0x40, 0x50, (b"symbol",), b""),
    ]
