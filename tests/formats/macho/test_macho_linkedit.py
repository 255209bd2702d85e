"""Fix-ups, exports, function starts, slots and unwind tables, compared with LLVM's tools."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sizeguard.base.errors import InputError
from sizeguard.formats.macho import MachO, Section, read_macho
from sizeguard.formats.macho.constants import CPU_ARM
from sizeguard.formats.macho.fixups import fixups
from sizeguard.formats.macho.linkedit import (
    EXPORT_REEXPORT,
    exports,
    function_starts,
    slots,
)
from sizeguard.formats.macho.uleb import read_ulebs
from sizeguard.formats.macho.unwind import compact_unwind, eh_frame, unwind_info
from tests.support.images.macho_samples import LINKED, OBJECTS, MachoSamples, fixup_rows
from tests.support.tools import tool

CHAINED = [name for name in LINKED if "opcodes" not in name and "arm64_32" not in name]
OPCODES = [name for name in LINKED if name not in CHAINED]


@pytest.mark.parametrize("name", CHAINED)
def test_chained_fixups_are_those_of_llvm_objdump(macho: MachoSamples, name: str) -> None:
    theirs = []
    for line in tool("llvm-objdump-19", "--macho", "--dyld-info", macho.path(name)).splitlines():
        columns = line.split()
        if columns[4:5] == ["bind"]:
            theirs.append((int(columns[2], 16), columns[7], int(columns[5], 16)))
        elif columns[4:5] == ["rebase"]:
            theirs.append((int(columns[2], 16), "", int(columns[5], 16)))
    assert len(theirs) > 20
    assert fixup_rows(read_macho(macho.path(name))) == theirs


@pytest.mark.parametrize("name", OPCODES)
def test_rebases_and_binds_are_those_of_llvm_objdump(macho: MachoSamples, name: str) -> None:
    rows = fixup_rows(read_macho(macho.path(name)))
    text = tool("llvm-objdump-19", "--macho", "--rebase", "--bind", "--lazy-bind", macho.path(name))
    rebased, _, bound = text.partition("Bind table:")
    addresses = [
        int(line.split()[2], 16) for line in rebased.splitlines() if line.endswith(" pointer")
    ]
    assert [address for address, symbol, _ in rows if not symbol] == addresses and addresses
    bound, _, lazy = bound.partition("Lazy bind table:")
    binds = [line.split() for line in bound.splitlines() if " pointer " in line]
    expected = [(int(columns[2], 16), columns[6], int(columns[4])) for columns in binds]
    expected += [
        (int(c[2], 16), c[4], 0)
        for c in (line.split() for line in lazy.splitlines() if " libSystem " in line)
    ]
    assert [row for row in rows if row[1]] == expected and expected


@pytest.mark.parametrize("name", LINKED)
def test_exports_are_those_of_llvm_objdump(macho: MachoSamples, name: str) -> None:
    text = tool("llvm-objdump-19", "--macho", "--exports-trie", macho.path(name))
    theirs = [(int(m[1], 16), m[2]) for m in re.finditer(r"^0x([0-9A-F]+)  (\S+)", text, re.M)]
    mine = [
        (export.address, export.name)
        for export in exports(read_macho(macho.path(name)))
        if not export.flags & EXPORT_REEXPORT
    ]
    assert mine == theirs and theirs


@pytest.mark.parametrize("name", LINKED)
def test_function_starts_are_those_of_llvm_objdump(macho: MachoSamples, name: str) -> None:
    text = tool("llvm-objdump-19", "--macho", "--function-starts=addrs", macho.path(name))
    theirs = [int(line, 16) for line in text.splitlines() if re.fullmatch("[0-9a-f]+", line)]
    assert function_starts(read_macho(macho.path(name))).tolist() == theirs and theirs


@pytest.mark.parametrize("name", LINKED)
def test_slots_are_those_of_llvm_objdump(macho: MachoSamples, name: str) -> None:
    image = read_macho(macho.path(name))
    text = tool("llvm-objdump-19", "--macho", "--indirect-symbols", macho.path(name))
    theirs = [
        (int(m[1], 16), m[2]) for m in re.finditer(r"^0x([0-9a-f]{8,16}) +\d+ (\S+)", text, re.M)
    ]
    mine = [
        (table.section.address + i * table.size, image.symbols.names[symbol])
        for table in slots(image)
        for i, symbol in enumerate(table.symbol.tolist())
        if symbol >= 0
    ]
    assert mine == theirs and theirs


def section_of(image: MachO, name: str) -> Section:
    return next(section for section in image.sections if section.name == name)


@pytest.mark.parametrize("name", [name for name in LINKED if "arm64_32" not in name])
def test_unwind_info_is_that_of_llvm_objdump(macho: MachoSamples, name: str) -> None:
    image = read_macho(macho.path(name))
    info = unwind_info(image, section_of(image, "__unwind_info"))
    text = tool("llvm-objdump-19", "--macho", "--unwind-info", macho.path(name))
    lsda = re.findall(r"\[\d+\]: function offset=0x(\w+), LSDA offset=0x(\w+)", text)
    assert [(f - image.base, t - image.base) for f, t in info.tables.tolist()] == [
        (int(f, 16), int(t, 16)) for f, t in lsda
    ] and lsda
    entries = re.findall(r"\[\d+\]: function offset=0x(\w+), encoding", text)
    theirs = [int(f, 16) for f, _ in lsda] + [int(f, 16) for f in entries]
    assert sorted((info.rows.function - image.base).tolist()) == sorted(theirs)


@pytest.mark.parametrize(
    "name", [name for name in OBJECTS if name.startswith("shapes") and "arm64_32" not in name]
)
def test_compact_unwind_of_objects_is_that_of_llvm_objdump(macho: MachoSamples, name: str) -> None:
    image = read_macho(macho.path(name))
    text = tool("llvm-objdump-19", "--macho", "--unwind-info", macho.path(name))
    theirs = [
        (int(o, 16), int(f, 16))
        for o, f in re.findall(r"Entry at offset 0x(\w+):\s+start: +0x(\w+)", text)
    ]
    rows = compact_unwind(image, section_of(image, "__compact_unwind"))
    ours = zip(rows.offset.tolist(), rows.function.tolist(), strict=True)
    assert list(ours) == theirs and theirs


def test_frames_are_those_of_llvm_dwarfdump(macho: MachoSamples) -> None:
    image = read_macho(macho.path("shapes-x86_64.o"))
    text = tool("llvm-dwarfdump-19", "--eh-frame", macho.path("shapes-x86_64.o"))
    theirs = [
        (int(o, 16), int(n, 16) + 4, int(f, 16))
        for o, n, f in re.findall(r"^(\w+) (\w+) \w+ FDE cie=\w+ pc=(\w+)", text, re.M)
    ]
    rows = eh_frame(image, section_of(image, "__eh_frame"))
    columns = (rows.offset.tolist(), rows.size.tolist(), rows.function.tolist())
    assert list(zip(*columns, strict=True)) == theirs and theirs


def test_ulebs() -> None:
    import numpy as np

    def column(text: str) -> list[int]:
        return read_ulebs(np.frombuffer(bytes.fromhex(text), np.uint8)).tolist()

    assert column("7f 80 01 e5 8e 26 00") == [127, 128, 624485, 0]
    assert column("ff ff ff ff ff ff ff ff 7f") == [(1 << 63) - 1]
    assert column("") == [] and column("80 80") == []
    with pytest.raises(ValueError, match="more than 63 bits"):
        column("80" * 9 + "01")


def test_damaged_tables_are_refused(macho: MachoSamples) -> None:
    """Overwrite each table with 0xFF or 0x7F bytes.

    No count, offset or name in it is valid any more.
    """
    from sizeguard.formats.macho import parse_macho_file

    for name, part, read in (
        ("app-arm64", "chained fixups", fixups),
        ("opcodes-arm64", "rebase opcodes", fixups),
        ("opcodes-arm64", "bind opcodes", fixups),
        ("app-arm64", "exports trie", lambda image: list(exports(image))),
        ("app-arm64", "function starts", function_starts),
    ):
        image = read_macho(macho.path(name))
        extent = image.extent(part)
        assert extent is not None
        data = image.data.copy()
        data[extent.offset : extent.offset + extent.size] = (
            0x7F if part == "function starts" else 0xFF
        )
        if part == "function starts":
            data[extent.offset : extent.offset + 8] = 0xFF
        damaged = parse_macho_file(image.path, data)
        assert isinstance(damaged, MachO)
        with pytest.raises(InputError, match=f"{name}: .*damaged"):
            read(damaged)


def test_function_starts_of_thumb_functions_are_even(macho: MachoSamples) -> None:
    """ld64 sets the lowest bit of their addresses."""
    image = read_macho(macho.path(LINKED[0]))
    table = image.extent("function starts")
    assert table is not None
    data = image.data.copy()
    data[table.offset : table.offset + 4] = (0x11, 0x10, 0, 0)
    thumb = replace(image, cpu=CPU_ARM, data=data)
    assert (function_starts(thumb) - image.base).tolist() == [0x10, 0x20]
