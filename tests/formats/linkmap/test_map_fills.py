"""Padding between the rows of a linker map."""

from __future__ import annotations

import time
from pathlib import Path

from sizeguard.formats.linkmap import read_link_map
from sizeguard.formats.linkmap.link_map import Fill, InputSection, OutputSection, fills_of

MANY = 20_000


def test_sections_of_one_name_have_their_own_padding() -> None:
    """A map may have thousands of them; comparing each row with each took 12 s."""
    outputs = [OutputSection(".text", 0x1000 + 32 * i, 32) for i in range(MANY)]
    placed = [InputSection(".text", ".text", "a.o", o.address, 24, False) for o in outputs]
    start = time.monotonic()
    fills = fills_of(outputs, placed)
    assert time.monotonic() - start < 5
    assert fills[:2] == (Fill(".text", 0x1018, 8), Fill(".text", 0x1038, 8))
    assert len(fills) == MANY


MERGED = """
Linker script and memory map

.rodata         0x0000000000001000       0x60
 .rodata.cst16  0x0000000000001000       0x20 a.o
 .rodata.cst16  0x0000000000001009       0x20 b.o
 *fill*         0x0000000000001009        0x7
 .rodata        0x0000000000001010       0x50 c.o
OUTPUT(app elf64-x86-64)
"""


def test_constants_that_gnu_ld_merged_end_where_the_next_row_begins(tmp_path: Path) -> None:
    """The map lists their size before merging; it took 25 bytes from the next object's table."""
    (tmp_path / "app.map").write_text(MERGED)
    placed = read_link_map(tmp_path / "app.map").placed
    assert [(row.file, row.size, row.is_merged) for row in placed] == [
        ("a.o", 9, False),
        ("b.o", 7, True),
        ("c.o", 0x50, False),
    ]
