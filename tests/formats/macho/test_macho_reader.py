"""The Mach-O reader, compared with llvm-objdump, llvm-nm, llvm-size and lief."""

from __future__ import annotations

import re
from pathlib import Path

import lief
import pytest

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.formats.macho import FatFile, MachO, is_macho, read_macho, read_macho_file
from sizeguard.formats.macho import constants as c
from sizeguard.formats.macho.dsym import companion, find_dsym
from sizeguard.formats.macho.relocations import relocations
from sizeguard.formats.sniff import image_format
from tests.support.images.macho_samples import FAT, LINKED, OBJECTS, THIN, MachoSamples
from tests.support.tools import tool

pytestmark = pytest.mark.native


def headers_of_llvm(
    path: Path,
) -> tuple[list[tuple[str, int]], list[dict[str, str]], list[dict[str, str]]]:
    """Return load commands with their sizes, and the fields of each segment and section."""
    commands: list[tuple[str, int]] = []
    segments: list[dict[str, str]] = []
    sections: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    name = ""
    for line in tool("llvm-objdump-19", "--macho", "--private-headers", path).splitlines():
        key, _, value = line.strip().partition(" ")
        value = value.strip()
        if line == "Section":
            fields = {}
            sections.append(fields)
        elif line.startswith("Load command"):
            fields = {}
        elif key == "cmd":
            name = value
            if name.startswith("LC_SEGMENT"):
                segments.append(fields)
        elif key == "cmdsize":
            commands.append((name, int(value.split()[0])))
        fields.setdefault(key, value)
    return commands, segments, sections


@pytest.mark.parametrize("name", THIN)
def test_headers_are_those_of_llvm_objdump(macho: MachoSamples, name: str) -> None:
    image = read_macho(macho.path(name))
    commands, segments, sections = headers_of_llvm(macho.path(name))
    assert [(command.name, command.size) for command in image.commands] == commands
    for mine, theirs in zip(image.segments, segments, strict=True):
        assert mine.name == theirs["segname"]
        assert (mine.address, mine.memory_size) == (
            int(theirs["vmaddr"], 16),
            int(theirs["vmsize"], 16),
        )
        assert (mine.offset, mine.file_size) == (int(theirs["fileoff"]), int(theirs["filesize"]))
        assert (mine.max_protection == 0) == (theirs["maxprot"] == "---")
        assert mine.is_writable == ("w" in theirs["initprot"])
        assert len(mine.sections) == int(theirs["nsects"])
    for ours, theirs in zip(image.sections, sections, strict=True):
        assert (ours.name, ours.segment_name) == (theirs["sectname"], theirs["segname"])
        assert (ours.address, ours.size) == (
            int(theirs["addr"], 16),
            int(theirs["size"].split()[0], 16),
        )
        assert ours.offset == int(theirs["offset"].split()[0])
        assert f"2^{ours.alignment.bit_length() - 1} " in theirs["align"]
        assert (ours.relocation_offset, ours.relocation_count) == (
            int(theirs["reloff"]),
            int(theirs["nreloc"]),
        )
        assert ours.is_zerofill == ("ZEROFILL" in theirs["type"])
        assert (ours.type == c.S_CSTRING_LITERALS) == (theirs["type"] == "S_CSTRING_LITERALS")
        attributes = theirs["attributes"]
        assert ours.is_code == ("INSTRUCTIONS" in attributes)
        assert ours.no_dead_strip == ("NO_DEAD_STRIP" in attributes)
        assert ours.is_debug == ("DEBUG" in attributes)


@pytest.mark.parametrize("name", THIN)
def test_symbols_are_those_of_llvm_nm_and_lief(macho: MachoSamples, name: str) -> None:
    image = read_macho(macho.path(name))
    mine = []
    for i in range(len(image.symbols)):
        mine.append((image.symbols.names[i], int(image.symbols.value[i])))
    theirs = []
    for line in tool("llvm-nm-19", "-a", "-p", "--format=sysv", macho.path(name)).splitlines():
        columns = line.split("|")
        if len(columns) == 7 and columns[0].strip() != "Name":
            theirs.append((columns[0].strip(), int(columns[1].strip() or "0", 16)))
    assert mine == theirs

    parsed = lief.MachO.parse(str(macho.path(name))).at(0)
    if name != "main-big_endian.o":  # lief reads these fields in the wrong byte order
        flags = [
            (str(s.name), s.value, s.raw_type, s.description & 0xFFFF)
            for s in parsed.symbols
            if s.origin == lief.MachO.Symbol.ORIGIN.SYMTAB
        ]
        table = image.symbols
        ours = zip(table.type.tolist(), table.description.tolist(), strict=True)
        assert [(*row, *rest) for row, rest in zip(mine, ours, strict=True)] == flags


@pytest.mark.parametrize(
    "name",
    [name for name in THIN if name not in ("main-i386.o", "main-armv7.o", "main-big_endian.o")],
)
def test_identity_is_that_of_lief(macho: MachoSamples, name: str) -> None:
    image = read_macho(macho.path(name))
    parsed = lief.MachO.parse(str(macho.path(name))).at(0)
    assert image.uuid == (bytes(parsed.uuid.uuid).hex() if parsed.has_uuid else "")
    assert list(image.dylibs) == [
        str(library.name)
        for library in parsed.libraries
        if library.command != lief.MachO.LoadCommand.TYPE.ID_DYLIB
    ]


@pytest.mark.parametrize("name", THIN)
def test_section_sizes_are_those_of_llvm_size(macho: MachoSamples, name: str) -> None:
    image = read_macho(macho.path(name))
    text = tool("llvm-size-19", "-m", macho.path(name))
    pattern = r"\tSection (?:\((.*), (.*)\)|(\S+)): (\d+)"
    theirs = [(m[2] or m[3], int(m[4])) for m in re.finditer(pattern, text)]
    assert [(section.name, section.size) for section in image.sections] == theirs
    segments = re.findall(r"^Segment (\S*): (\d+)", text, re.M)
    assert [(segment.name, segment.memory_size) for segment in image.segments] == [
        (name, int(size)) for name, size in segments
    ]


@pytest.mark.parametrize("name", OBJECTS)
def test_relocations_are_those_of_llvm_readobj(macho: MachoSamples, name: str) -> None:
    """Compare addresses, lengths, types, flags, and the values that relocations refer to.

    The value is the index of a symbol or section; a scattered relocation contains an address.
    """
    image = read_macho(macho.path(name))
    theirs: dict[str, list[tuple[int, ...]]] = {}
    text = tool("llvm-readobj-19", "-r", "--expand-relocs", macho.path(name))
    for block in re.split(r"\n  Section ", text)[1:]:
        field = (
            r"Offset: 0x(\w+)\s+PCRel: (\d)\s+Length: (\d)\s+Type: \w+ \((\d+)\)\s+(\w+):"
            r" (?:0x(\w+)|\S+ \((\d+)\))"
        )
        for offset, pcrel, length, kind, target, value, index in re.findall(field, block):
            row = (
                int(offset, 16),
                int(pcrel),
                1 << int(length),
                int(kind),
                target == "Symbol",
                target == "Value",
            )
            theirs.setdefault(block.split()[0], []).append(
                (*row, int(value, 16) if value else int(index))
            )
    mine: dict[str, list[tuple[int, ...]]] = {}
    for section in image.sections:
        table = relocations(image, section)
        columns = (
            table.address,
            table.pcrel,
            table.length,
            table.type,
            table.external,
            table.scattered,
            table.symbol,
        )
        if section.relocation_count:
            mine.setdefault(section.name, []).extend(
                zip(*(column.tolist() for column in columns), strict=True)
            )
    assert {key: sorted(rows) for key, rows in mine.items()} == {
        key: sorted(rows) for key, rows in theirs.items()
    }


def test_flags_of_symbols_for_the_section_graph(tmp_path: Path) -> None:
    (tmp_path / "a.s").write_text(
        ".globl _kept\n.no_dead_strip _kept\n_kept: ret\n.globl _weak\n.weak_definition"
        " _weak\n_weak: nop\n.alt_entry _inner\n_inner: ret\n.subsections_via_symbols\n"
    )
    tool(
        "clang-19", "-target", "arm64-apple-macos13", "-c", tmp_path / "a.s", "-o", tmp_path / "a.o"
    )
    image = read_macho(tmp_path / "a.o")
    flags = {
        image.symbols.names[i]: int(image.symbols.description[i]) for i in range(len(image.symbols))
    }
    assert image.is_object and image.subsections_via_symbols
    assert flags["_kept"] & c.N_NO_DEAD_STRIP and not flags["_weak"] & c.N_NO_DEAD_STRIP
    assert flags["_weak"] & c.N_WEAK_DEF and flags["_inner"] & c.N_ALT_ENTRY


@pytest.mark.parametrize("name", FAT)
def test_fat_files_are_their_slices(macho: MachoSamples, name: str) -> None:
    fat = read_macho_file(macho.path(name))
    assert isinstance(fat, FatFile)
    thin = {"fat": ("app-arm64", "app-x86_64"), "fat64": ("app-g-arm64", "lib-x86_64")}[name]
    by_arch = {name.partition("-")[2].removeprefix("g-"): macho.path(name) for name in thin}
    for part, image in zip(fat.slices, fat.images, strict=True):
        assert part.arch == image.arch
        assert (
            fat.path.read_bytes()[part.offset : part.offset + part.size]
            == by_arch[part.arch].read_bytes()
        )
        chosen = read_macho(macho.path(name), part.arch)
        assert (chosen.offset, chosen.uuid) == (part.offset, read_macho(by_arch[part.arch]).uuid)
    with pytest.raises(InputError, match="no image for ppc; --arch takes one of "):
        read_macho(macho.path(name), "ppc")
    message = f"{name}: a universal binary; name one of its images: .*{name}!x86_64 or "
    with pytest.raises(InputError, match=message):
        read_macho(macho.path(name))


def test_a_dsym_is_found_by_its_uuid(macho: MachoSamples, tmp_path: Path) -> None:
    image = read_macho(macho.path("app-g-arm64"))
    debug = find_dsym(image)
    assert debug is not None and debug.uuid == image.uuid and debug.filetype == c.MH_DSYM
    assert debug.load == 0 and any(section.name == "__debug_info" for section in debug.sections)
    assert find_dsym(read_macho(macho.path("app-arm64"))) is None

    # The image has more symbols than its dSYM. A stripped image gets its names from the dSYM next
    # to it, or from the unstripped image.
    assert companion(image) is None
    shipped = tmp_path / "shipped"
    shipped.write_bytes(macho.path("app-stripped-arm64").read_bytes())
    assert companion(read_macho(shipped)) is None
    twin = companion(read_macho(shipped), macho.path("app-arm64"))
    assert twin is not None and len(twin.symbols) > len(read_macho(shipped).symbols)
    tool("llvm-strip-19", macho.path("app-g-arm64"), "-o", shipped)
    (tmp_path / "shipped.dSYM").symlink_to(macho.path("app-g-arm64.dSYM"))
    beside = companion(read_macho(shipped))
    assert beside is not None and beside.uuid == image.uuid

    other = macho.path("app-g-x86_64.dSYM")
    theirs = read_macho(macho.path("app-g-x86_64")).uuid
    with pytest.raises(InconclusiveError) as error:
        find_dsym(image, other)
    assert image.uuid in str(error.value) and theirs in str(error.value)

    stale = tmp_path / "app-g-arm64"
    stale.write_bytes(macho.path("app-g-arm64").read_bytes())
    beside = tmp_path / "app-g-arm64.dSYM"
    beside.symlink_to(other)
    assert find_dsym(read_macho(stale)) is None


def test_formats_are_told_by_the_first_bytes(macho: MachoSamples, tmp_path: Path) -> None:
    assert {image_format(macho.path(name)) for name in THIN + FAT} == {"macho"}
    java = tmp_path / "A.class"
    java.write_bytes(b"\xca\xfe\xba\xbe\x00\x00\x00\x41rest")
    assert image_format(java) == "unknown" and not is_macho(java.read_bytes())
    (tmp_path / "a").write_bytes(b"")
    assert image_format(tmp_path / "a") == "unknown"
    assert image_format(Path("/bin/true")) == "elf"


def test_linked_images_have_an_identity(macho: MachoSamples) -> None:
    images: list[MachO] = [read_macho(macho.path(name)) for name in LINKED]
    assert all(len(image.uuid) == 32 for image in images)
    assert {image.arch for image in images} == {"arm64", "x86_64", "arm64_32"}
