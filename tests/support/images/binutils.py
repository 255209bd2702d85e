"""Read sections, sizes and symbols of an ELF file with readelf, size and nm."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np

from sizeguard.formats.elf import read_elf
from sizeguard.ledger.elf import elf_ledger
from tests.support.tools import tool


def check_sections_against_readelf(path: Path) -> None:
    theirs = []
    for line in tool("readelf", "-SW", path).splitlines():
        row = re.match(
            r"\s*\[\s*(\d+)\]\s(\S*)\s+([A-Z]\S*)\s+([0-9a-f]{16})\s([0-9a-f]+)\s([0-9a-f]+)\s",
            line,
        )
        if row and row[3] != "NULL":
            theirs.append((int(row[1]), row[2], int(row[4], 16), int(row[5], 16), int(row[6], 16)))
    ours = [(s.index, s.name, s.address, s.offset, s.size) for s in read_elf(path).sections[1:]]
    assert len(theirs) > 4
    assert ours == theirs


def check_section_sizes_against_size(path: Path) -> None:
    image = read_elf(path)
    ledger = elf_ledger(image)
    nobits = {section.name for section in image.sections if section.is_nobits}
    listed: Counter[str] = Counter()
    for line in tool("size", "-A", path).splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdigit() and words[0] not in nobits:
            listed[words[0]] += int(words[1])
    rows = np.bincount(ledger.owners.section, ledger.file_bytes, len(ledger.sections)).astype(int)
    ours = dict(zip(ledger.sections, rows.tolist(), strict=True))
    assert listed
    assert {name: ours[name] for name in listed} == listed


def check_symbols_against_nm(path: Path) -> None:
    image = read_elf(path)
    option = [] if not image.is_stripped else ["-D"]
    theirs = Counter()
    for line in tool("nm", "-S", "--defined-only", *option, path).splitlines():
        row = line.split()
        if len(row) == 4:
            theirs[row[3].split("@")[0], int(row[0], 16), int(row[1], 16)] += 1
    tables = image.static_symbols or image.dynamic_symbols
    ours = Counter()
    for table in tables:
        for i in np.flatnonzero((table.size > 0) & (table.section != 0)).tolist():
            ours[table.names[i].split("@")[0], int(table.address[i]), int(table.size[i])] += 1
    assert ours == theirs
