"""ELF files without section headers: sizes from segments, names from the dynamic table."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.group import group
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.formats.elf import parse_elf, read_elf
from sizeguard.ledger.elf import elf_ledger
from tests.support.images.made_elf import Form, MadeSection, MadeSegment, MadeSymbol, make_elf

SOURCE = """
#include <cstdio>
struct Shape { virtual double area() const; virtual ~Shape(); double side = 2; };
double Shape::area() const { return side * side; }
Shape::~Shape() { std::puts("gone"); }
int table[300] = {1, 2, 3};
int zeros[5000];
thread_local int local = 4;
int twice(int x) { return 2 * x + table[x] + zeros[x] + local; }
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    (folder / "a.cpp").write_text(SOURCE)
    command = ["g++", "-O1", "-shared", "-fPIC", "-Wl,--build-id=sha1", "a.cpp", "-o", "lib.so"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "lib.so"


def zeroed(file: Path, *, count: bool) -> bytes:
    """Clear e_shoff, and e_shnum if `count`; the headers themselves stay in the file."""
    data = bytearray(file.read_bytes())
    data[0x28:0x30] = bytes(8)
    if count:
        data[0x3C:0x40] = bytes(4)
    return bytes(data)


@pytest.mark.native
@pytest.mark.parametrize("form", ["objcopy", "offset", "offset and count"])
@pytest.mark.parametrize("hash_style", ["gnu", "sysv"])
def test_sizes_and_names_are_those_of_the_segments(
    whole: Path, tmp_path: Path, form: str, hash_style: str
) -> None:
    image = tmp_path / "image.so"
    linked = tmp_path / "linked.so"
    command = ["g++", "-O1", "-shared", "-fPIC", "-Wl,--build-id=sha1", str(whole.parent / "a.cpp")]
    subprocess.run([*command, f"-Wl,--hash-style={hash_style}", "-o", linked], check=True)
    if form == "objcopy":
        subprocess.run(["llvm-objcopy-19", "--strip-sections", linked, image], check=True)
    else:
        image.write_bytes(zeroed(linked, count=form != "offset"))
    ledger = elf_ledger(read_elf(image))
    size = image.stat().st_size
    assert (np.diff(ledger.file.start, append=size) > 0).all() and ledger.file.start[0] == 0
    text = subprocess.run(
        ["readelf", "-lW", image], check=True, capture_output=True, text=True
    ).stdout
    loads = re.findall(r"LOAD +(0x\S+) +\S+ +\S+ +(0x\S+) +(0x\S+) +([RWE ]+?) +0x", text)
    elf, before = read_elf(image), read_elf(linked)
    sums = ledger.file_bytes.sum(), ledger.load.sum(), ledger.ram.sum()
    assert sums == (size, elf.load, elf.ram)
    assert ledger.memory.size.sum() == sum(int(memory, 16) for _, _, memory, _ in loads)
    headers = elf.header[1] + elf.program_headers[1]
    assert elf.load == sum(int(size, 16) for _, size, _, _ in loads) - headers
    assert elf.ram == sum(int(memory, 16) for _, _, memory, flags in loads if "W" in flags)
    assert elf.build_id == before.build_id
    rows = group(analysis_of(image), ["symbol"]).rows
    # Functions and data that nm -D lists have at least the size that it states.
    listed = subprocess.run(
        ["nm", "-DS", "--defined-only", linked], check=True, capture_output=True, text=True
    ).stdout
    sizes = {
        words[3]: int(words[1], 16)
        for words in map(str.split, listed.splitlines())
        if len(words) == 4 and words[2] in "TWVD"
    }
    found = {row.keys[0]: row.load for row in rows}
    assert "_Z5twicei" in sizes and "table" in sizes
    assert all(
        found.get(name, 0) >= size for name, size in sizes.items() if name != "_ZN5ShapeD1Ev"
    )
    assert sum(found.values()) == elf.load


@given(
    st.sampled_from([Form(is_64, order) for is_64 in (False, True) for order in "<>"]),
    st.lists(
        st.tuples(
            st.integers(0, 300), st.integers(0, 120), st.integers(0, 60), st.integers(0, 7),
            st.sampled_from([1, 1, 2]),
        ),
        max_size=4,
    ),
    st.binary(max_size=200),
)  # fmt: skip
def test_any_segments_are_covered_once(
    form: Form, drawn: list[tuple[int, int, int, int, int]], tail: bytes
) -> None:
    made = make_elf(form, [], [], tail=bytes(400) + tail)
    segments = [
        MadeSegment(offset, 0x1000 * (i + 1) + offset, size, size + more, type_, flags)
        for i, (offset, size, more, flags, type_) in enumerate(drawn)
        if offset + size <= len(made)
    ]
    data = bytearray(make_elf(form, [], segments, tail=bytes(400) + tail))
    at, width = (0x28, 8) if form.is_64 else (0x20, 4)
    data[at : at + width] = bytes(width)
    elf = parse_elf(Path("made"), bytes(data))
    taken = [0] * len(data)
    for section in elf.sections:
        for byte in range(section.offset, section.offset + section.file_size):
            taken[byte] += 1
    assert max(taken, default=0) <= 1
    for offset, size in (elf.header, elf.program_headers):
        assert not any(taken[offset : offset + size])
    loaded = {
        byte
        for s in segments
        if s.type == 1 and s.memory_size
        for byte in range(s.offset, s.offset + s.file_size)
    }
    holders = {
        byte
        for offset, size in (elf.header, elf.program_headers)
        for byte in range(offset, offset + size)
    }
    assert {i for i, count in enumerate(taken) if count} == loaded - holders


def test_a_hash_table_that_lies_takes_no_time() -> None:
    """Counts of four billion buckets or symbols are limited by the size of the file."""
    form = Form()
    for tag, words in ((4, (9, 0xFFFFFFFF)), (0x6FFFFEF5, (0xFFFFFFFF, 1, 1, 0, 7, 7))):
        table = struct.pack(f"<{len(words)}I", *words).ljust(64, b"\0")
        start = 64 + 2 * 56
        dynamic = struct.pack(
            "<10Q", tag, 0x1000 + start, 5, 0x1000 + start, 6, 0x1000 + start, 10, 16, 0, 0
        )
        where = start + len(table)
        segments = [
            MadeSegment(0, 0x1000, where + len(dynamic), where + len(dynamic)),
            MadeSegment(where, 0x1000 + where, len(dynamic), len(dynamic), type=2),
        ]
        data = bytearray(make_elf(form, [], segments, tail=table + dynamic))
        data[0x28:0x30] = bytes(8)
        elf = parse_elf(Path("made"), bytes(data))
        assert elf.load == len(table) + len(dynamic)
        assert all(section.size <= len(data) for section in elf.sections)


@pytest.mark.parametrize(("order", "width"), [("<", 4), (">", 4), ("<", 8), (">", 8)])
def test_a_hash_table_counts_symbols_with_words_of_either_width(order: str, width: int) -> None:
    """Those of s390x and alpha have 64 bits."""
    form = Form(order=order)
    symbols, strings = form.symbols([MadeSymbol("f", 0x10, 4), MadeSymbol("g", 0x14, 4)])
    hashes = struct.pack(f"{order}2{'I' if width == 4 else 'Q'}", 1, 3) + bytes(4 * width)
    at = 64 + 2 * 56
    places = (at + 6 * 16, at + 6 * 16 + len(hashes))
    tags = {4: places[0], 6: places[1], 5: places[1] + len(symbols), 10: len(strings), 0: 0}
    dynamic = b"".join(struct.pack(f"{order}QQ", *pair) for pair in tags.items()).ljust(96, b"\0")
    size = at + len(dynamic) + len(hashes) + len(symbols) + len(strings)
    segments = [MadeSegment(0, 0, size, size), MadeSegment(at, at, 96, 96, type=2)]
    content = MadeSection("", content=dynamic + hashes + symbols + strings)
    data = bytearray(make_elf(form, [content], segments, type_=3, machine=22))
    data[0x28:0x30] = bytes(8)
    image = parse_elf(Path("x"), bytes(data))
    assert [symbol.name for symbol in image.symbols] == ["", "f", "g"]
