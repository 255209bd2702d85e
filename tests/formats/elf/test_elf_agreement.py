"""Compare the ELF reader and ledger with readelf, nm, size and objdump.

The files are programs of this machine and a build of the runtime.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.build_record import Build
from sizeguard.formats.elf import RELOCATION_TYPES, Elf, parse_elf, read_elf
from sizeguard.formats.elf.unwind import CIE, FDE, header_table, read_frames
from sizeguard.ledger.elf import elf_ledger
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import Ledger, Owners
from tests.support.images.binutils import (
    check_section_sizes_against_size,
    check_sections_against_readelf,
    check_symbols_against_nm,
)
from tests.support.tools import tool

pytestmark = pytest.mark.native

SYSTEM = (
    "/usr/bin/python3",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/lib/x86_64-linux-gnu/libc.so.6",
)
FILES = (*SYSTEM, "image", "shipped", "object", "packed")

PACKED = """
struct A { virtual int f(); virtual ~A(); int x; };
int A::f() { return x; }
A::~A() {}
A a; A* list[] = {&a, &a, &a, &a, &a, &a, &a, &a, &a, &a, &a, &a, &a, &a, &a, &a, &a, &a, &a, &a};
extern "C" const char* name(); const char* (*where)() = name;
"""


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Link a library with Android's packed relocations and RELR."""
    folder = tmp_path_factory.mktemp("packed")
    (folder / "a.cpp").write_text(PACKED)
    flags = (
        "-fuse-ld=lld-19",
        "-shared",
        "-fPIC",
        "-nostdlib",
        "-Wl,--pack-dyn-relocs=android+relr",
    )
    tool("clang++-19", "-O1", *flags, folder / "a.cpp", "-o", folder / "liba.so")
    return folder / "liba.so"


@pytest.fixture(params=FILES, ids=lambda name: Path(name).name)
def path(request: pytest.FixtureRequest, full_build: Build, packed: Path) -> Path:
    name: str = request.param
    made = {"image": full_build.image, "shipped": full_build.shipped, "packed": packed}
    if name == "object":
        return next(path for path in full_build.objects if path.suffix == ".o")
    return made.get(name) or Path(name)


def test_sections_are_those_of_readelf(path: Path) -> None:
    check_sections_against_readelf(path)


def test_rows_of_sections_have_the_sizes_of_size(path: Path) -> None:
    check_section_sizes_against_size(path)


def test_symbols_are_those_of_nm(path: Path) -> None:
    check_symbols_against_nm(path)


def test_relocations_are_those_of_readelf(path: Path) -> None:
    image = read_elf(path)
    theirs = Counter[tuple[int, int]]()
    for line in tool("llvm-readelf-19", "-rW", path).splitlines():
        row = re.match(r"([0-9a-f]{16})\s+([0-9a-f]{16})\s", line)
        if row:
            theirs[int(row[1], 16), int(row[2], 16) & 0xFFFFFFFF] += 1
        packed_row = re.match(
            r"(?:[0-9a-f]+:\s+[0-9a-f]{16}|\s{18,})\s+([0-9a-f]{16})(?:\s|$)", line
        )
        if packed_row:
            theirs[int(packed_row[1], 16), 8] += 1
    ours = Counter[tuple[int, int]]()
    for section in image.sections:
        if section.type in RELOCATION_TYPES:
            table = image.relocation_table(section)
            # RELR has no types: every entry is the machine's R_RELATIVE.
            types = table.type if section.name != ".relr.dyn" else np.full(len(table), 8)
            ours.update(zip(table.offset.tolist(), types.tolist(), strict=True))
            assert (table.start >= section.offset).all() and (
                table.end <= section.offset + section.size
            ).all()
            assert (table.end >= table.start).all() and (table.start[1:] >= table.end[:-1]).all()
    assert ours == theirs


def frames_of(path: Path) -> list[tuple[str, int, int, int]]:
    """Return kind, offset, size and function of each record of .eh_frame."""
    found = []
    is_eh = False
    # readelf fails if the file that a .gnu_debuglink names is absent.
    dump = subprocess.run(
        ["readelf", "--debug-dump=frames", path], capture_output=True, text=True, check=False
    ).stdout
    for line in dump.splitlines():
        if line.startswith("Contents of"):
            is_eh = ".eh_frame section" in line
        row = re.match(
            r"([0-9a-f]{8}) ([0-9a-f]{16}) [0-9a-f]{8} (CIE|FDE)(?:.* pc=([0-9a-f]+)\.\.)?", line
        )
        if row and is_eh:
            found.append(
                (row[3], int(row[1], 16), int(row[2], 16) + 4, int(row[4], 16) if row[4] else 0)
            )
    return found


@pytest.mark.parametrize("with_table", [True, False])
def test_unwind_records_are_those_of_readelf(path: Path, with_table: bool) -> None:
    image = read_elf(path)
    section, header = image.section(".eh_frame"), image.section(".eh_frame_hdr")
    theirs = frames_of(path)
    if section is None:
        assert not theirs
        return
    table = header_table(image, header) if header is not None and with_table else None
    frames = read_frames(image, section, table)
    names = {CIE: "CIE", FDE: "FDE"}
    columns = (frames.kind, frames.start, frames.size, frames.function)
    ours = [
        (names[kind], start, size, function if kind == FDE else 0)
        for kind, start, size, function in zip(
            *(column.tolist() for column in columns), strict=True
        )
        if kind in names
    ]
    if image.is_relocatable:
        ours, theirs = [row[:3] for row in ours], [row[:3] for row in theirs]
    assert ours == theirs


@pytest.mark.parametrize("step", [1, 7])
def test_some_values_of_a_column_are_those_of_the_column(path: Path, step: int) -> None:
    rows = np.arange(0, len(elf_ledger(read_elf(path)).owners), step)
    for name in Owners.COLUMNS:
        owners = elf_ledger(read_elf(path)).owners
        some = owners.some(name, rows)
        assert (
            some.tolist()
            == getattr(owners, name)[rows].tolist()
            == owners.some(name, rows).tolist()
        )
        assert owners.some(name, rows[::-1]).tolist() == some[::-1].tolist()


def owner_bytes(ledger: Ledger, rows: np.ndarray) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for row in np.flatnonzero(rows).tolist():
        sums[ledger.symbols[int(ledger.owners.symbol[row])]] += int(ledger.file_bytes[row])
    return sums


def test_code_of_symbols_has_the_sizes_of_nm(path: Path) -> None:
    """Compare only symbols that overlap no other symbol."""
    image = read_elf(path)
    ledger = elf_ledger(image)
    table = (image.static_symbols or image.dynamic_symbols)[0]
    code = np.array([s.is_executable and s.name != ".plt" for s in image.sections])
    inside = (table.size > 0) & (table.section > 0) & code[np.clip(table.section, 0, len(code) - 1)]
    key = table.section.astype(np.int64) << 48 | table.address
    starts, ends = key[inside], (key + table.size)[inside]
    names = [table.names[i] for i in np.flatnonzero(inside).tolist()]
    expected = {}
    for name, start, end in zip(names, starts.tolist(), ends.tolist(), strict=True):
        overlapping = ((starts < end) & (ends > start)).sum()
        if overlapping == 1 and names.count(name) == 1:
            expected[name] = end - start
    rows = (ledger.owners.analyzer == ANALYZER["symbol table"]) & (
        ledger.owners.kind == KIND["code"]
    )
    sums = owner_bytes(ledger, rows)
    assert {name: sums[name] for name in expected} == expected
    assert expected or path.name in ("run_program.stripped",) or image.is_stripped


def spans(ledger: Ledger, image: Elf, section: str) -> list[tuple[int, int, str]]:
    """Return the section's spans: offset in the section, size and symbol."""
    at = image.section(section)
    assert at is not None
    index = ledger.sections.index(section)
    sizes = np.diff(ledger.file.start, append=ledger.file.size)
    rows = ledger.owners.section[ledger.file.owner] == index
    symbols = ledger.owners.symbol[ledger.file.owner[rows]]
    names = [ledger.symbols[i] if i >= 0 else "" for i in symbols.tolist()]
    return list(
        zip(
            (ledger.file.start[rows] - at.offset).tolist(), sizes[rows].tolist(), names, strict=True
        )
    )


def test_an_unwind_record_belongs_to_the_function_that_it_unwinds(full_build: Build) -> None:
    path = Path(SYSTEM[1])
    image = read_elf(path)
    ledger = elf_ledger(image)
    by_address: dict[int, set[str]] = {}
    for line in tool("nm", "-DS", "--defined-only", path).splitlines():
        row = line.split()
        if len(row) == 4 and row[2] in "tTwWiu":
            by_address.setdefault(int(row[0], 16), set()).add(row[3].split("@")[0])
    owners = {start: (size, name) for start, size, name in spans(ledger, image, ".eh_frame")}
    named = 0
    for kind, start, size, function in frames_of(path):
        if kind == "FDE" and function in by_address:
            assert owners[start][0] == size
            assert owners[start][1].split("@")[0] in by_address[function]
            named += 1
    assert named > 1000


@pytest.mark.parametrize("file", [*SYSTEM[:2], "/usr/bin/git"])
def test_stubs_belong_to_the_import_that_objdump_names(file: str) -> None:
    image = read_elf(Path(file))
    ledger = elf_ledger(image)
    for name in (".plt", ".plt.sec", ".plt.got"):
        section = image.section(name)
        if section is None:
            continue
        theirs = {}
        for line in tool("objdump", "-d", "-j", name, file).splitlines():
            row = re.fullmatch(r"([0-9a-f]+) <(.+)@plt>:", line)
            if row:
                theirs[int(row[1], 16) - section.address] = row[2].split("@")[0]
        ours = {start: symbol.split("@")[0] for start, _, symbol in spans(ledger, image, name)}
        assert {start: ours.get(start) for start in theirs} == theirs


def test_the_same_build_with_symbols_names_a_stripped_image(
    full_build: Build, tmp_path: Path
) -> None:
    whole, shipped = read_elf(full_build.image), read_elf(full_build.shipped)
    debug = tmp_path / "run_program.debug"
    tool("objcopy", "--only-keep-debug", full_build.image, debug)
    rows = {}
    for name, names in (("itself", None), ("image", whole), ("debug", read_elf(debug))):
        ledger = elf_ledger(whole if names is None else shipped, names)
        assert ledger.file_bytes.sum() == ledger.image.file
        rows[name] = owner_bytes(ledger, (ledger.owners.symbol >= 0) & (ledger.load > 0))
    assert rows["itself"] == rows["image"] == rows["debug"]
    assert len(rows["debug"]) > 500


def test_symbols_of_another_build_are_refused(full_build: Build, core_build: Build) -> None:
    full, core = read_elf(full_build.shipped), read_elf(core_build.image)
    with pytest.raises(InconclusiveError, match=f"build id {core.build_id}, not {full.build_id}"):
        elf_ledger(full, core)


def test_an_image_without_section_headers_has_its_segments(full_build: Build) -> None:
    data = bytearray(full_build.shipped.read_bytes())
    struct.pack_into("<Q", data, 40, 0)  # e_shoff
    struct.pack_into("<HH", data, 60, 0, 0)  # e_shnum, e_shstrndx
    image = parse_elf(Path("no_sections"), bytes(data))
    ledger = elf_ledger(image)
    loaded = sum(s.memory_size for s in image.segments if s.type == 1)
    # Sections are made from the segments, except for the headers.
    assert 0 < loaded - sum(s.size for s in image.sections if s.flags & 2) < 1024
    assert image.build_id == read_elf(full_build.shipped).build_id
    assert ledger.file_bytes.sum() == len(data)
    assert ledger.memory.size.sum() == loaded


def test_padding_is_of_three_kinds(full_build: Build) -> None:
    """Page slack is between segments, section gaps between sections, padding within one."""
    image = read_elf(full_build.shipped)
    ledger = elf_ledger(image, read_elf(full_build.image))
    sums = np.bincount(ledger.owners.kind, ledger.file_bytes, len(KIND)).astype(int)
    assert sums[KIND["page slack"]] == full_build.sizes.page_slack
    filled = sum(s.size for s in image.sections if s.file_size and s.type != 0)
    headers = sums[KIND["header"]]
    assert (
        filled
        + headers
        + sums[KIND["page slack"]]
        + sums[KIND["section gap"]]
        + sums[KIND["unattributed"]]
        == image.size
    )
    padding = ledger.owners.kind == KIND["padding"]
    content = image.data
    for start, size, owner in zip(
        ledger.file.start.tolist(),
        np.diff(ledger.file.start, append=ledger.file.size).tolist(),
        ledger.file.owner.tolist(),
        strict=True,
    ):
        if padding[owner]:
            assert set(content[start : start + size].tolist()) <= {
                0x00,
                0x90,
                0xCC,
                0x66,
                0x2E,
                0x0F,
                0x1F,
                0x40,
                0x44,
                0x80,
                0x84,
            }
