"""Turns an ELF file into its sections, segments and symbols."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sizeguard.errors import InputError

SHT_SYMTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_REL, SHT_DYNSYM = 2, 4, 7, 8, 9, 11
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR = 1, 2, 4
PT_LOAD = 1
NT_GNU_BUILD_ID = 3
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_FILE, STT_TLS, STT_IFUNC = 0, 1, 2, 3, 4, 6, 10
SHN_UNDEF, SHN_LORESERVE = 0, 0xFF00

MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv"}


@dataclass(frozen=True, slots=True)
class Section:
    """A section; offset and size in bytes, size as in memory (a NOBITS section has none in the file)."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    @property
    def is_allocated(self) -> bool:
        return bool(self.flags & SHF_ALLOC)

    @property
    def is_writable(self) -> bool:
        return bool(self.flags & SHF_WRITE)

    @property
    def is_executable(self) -> bool:
        return bool(self.flags & SHF_EXECINSTR)

    @property
    def is_nobits(self) -> bool:
        return self.type == SHT_NOBITS

    @property
    def file_size(self) -> int:
        return 0 if self.is_nobits else self.size

    @property
    def load_size(self) -> int:
        """Bytes that the section brings into memory from the file."""
        return self.file_size if self.is_allocated else 0


@dataclass(frozen=True, slots=True)
class Segment:
    """A program header."""

    type: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol of .symtab, or of .dynsym if the file is stripped; section is an index, 0 if undefined."""

    name: str
    address: int
    size: int
    type: int
    binding: int
    section: int


@dataclass(frozen=True, slots=True)
class Elf:
    """An ELF file. header_size and the extents of the header tables are bytes in the file, as (offset, size)."""

    path: Path
    size: int
    machine: str
    build_id: str
    header: tuple[int, int]
    program_headers: tuple[int, int]
    section_headers: tuple[int, int]
    sections: tuple[Section, ...]
    segments: tuple[Segment, ...]
    symbols: tuple[Symbol, ...]
    is_stripped: bool
    data: bytes = field(repr=False)

    @property
    def load(self) -> int:
        """Bytes of all ALLOC sections but NOBITS."""
        return sum(section.load_size for section in self.sections)

    @property
    def ram(self) -> int:
        """Bytes of writable ALLOC sections with NOBITS, less what lld pads its read-only part with."""
        return sum(s.size for s in self.sections if s.is_allocated and s.is_writable and s.name != ".relro_padding")

    def content(self, section: Section) -> bytes:
        """The section's bytes in the file."""
        return self.data[section.offset : section.offset + section.file_size]

    def relocations(self, section: Section) -> Iterator[tuple[int, int, int]]:
        """Of a section with addends (RELA): offset in the section that it relocates, index of the symbol, addend."""
        is_64 = self.data[4] == 2
        layout = struct.Struct(("<" if self.data[5] == 1 else ">") + ("QQq" if is_64 else "IIi"))
        content = self.content(section)
        for offset, info, addend in layout.iter_unpack(content[: len(content) // layout.size * layout.size]):
            yield offset, info >> 32 if is_64 else info >> 8, addend


def read_elf(path: Path) -> Elf:
    """Read a file. Raises InputError for what is no ELF file and for one whose tables point outside of it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    return parse_elf(path, data)


def parse_elf(path: Path, data: bytes) -> Elf:
    """The same for bytes that are there; the path is for messages."""
    if data[:4] != b"\x7fELF":
        raise InputError(f"{path}: not an ELF file")
    try:
        return _Reader(path, data).read()
    except (struct.error, IndexError) as error:
        raise InputError(f"{path}: a damaged ELF file: {error}") from error


class _Reader:
    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        if len(data) < 52 or data[4] not in (1, 2) or data[5] not in (1, 2):
            raise self.damaged("its header is cut or of no known class")
        self.is_64 = data[4] == 2
        self.order = "<" if data[5] == 1 else ">"

    def damaged(self, what: str) -> InputError:
        return InputError(f"{self.path}: a damaged ELF file: {what}")

    def read(self) -> Elf:
        layout = "16xHHIQQQIHHHHHH" if self.is_64 else "16xHHIIIIIHHHHHH"
        (_, machine, _, _, phoff, shoff, _, ehsize, phentsize, phnum, shentsize, shnum, shstrndx) = struct.unpack_from(
            self.order + layout, self.data
        )
        self.check("the header", 0, ehsize)
        self.check("program headers", phoff, phentsize * phnum)
        # More than 65,279 sections: their number stands in the first section header.
        if shoff and shnum == 0:
            shnum = self.raw_section(shoff)[5]
        if shstrndx == 0xFFFF and shoff:
            shstrndx = self.raw_section(shoff)[6]
        self.check("section headers", shoff, shentsize * shnum)
        wanted = 64 if self.is_64 else 40
        if shnum and shentsize != wanted:
            raise self.damaged(f"section headers of {shentsize} bytes, not {wanted}")
        sections = self.sections(shoff, shnum, shstrndx)
        tables = [section for section in sections if section.type == SHT_SYMTAB]
        is_stripped = not tables
        tables = tables or [section for section in sections if section.type == SHT_DYNSYM]
        return Elf(
            path=self.path,
            size=len(self.data),
            machine=MACHINES.get(machine, f"machine{machine}"),
            build_id=self.build_id(sections),
            header=(0, ehsize),
            program_headers=(phoff, phentsize * phnum),
            section_headers=(shoff, shentsize * shnum),
            sections=sections,
            segments=tuple(self.segments(phoff, phentsize, phnum)),
            symbols=tuple(symbol for table in tables for symbol in self.symbols(table, sections)),
            is_stripped=is_stripped,
            data=self.data,
        )

    def check(self, what: str, offset: int, size: int) -> None:
        if offset + size > len(self.data):
            raise self.damaged(f"{what} at [{offset}, {offset + size}) of a file of {len(self.data)} bytes")

    def raw_section(self, offset: int) -> tuple[int, ...]:
        layout = "IIQQQQIIQQ" if self.is_64 else "IIIIIIIIII"
        return struct.unpack_from(self.order + layout, self.data, offset)

    def sections(self, offset: int, count: int, names_index: int) -> tuple[Section, ...]:
        width = 64 if self.is_64 else 40
        raw = [self.raw_section(offset + i * width) for i in range(count)]
        if count and names_index >= count:
            raise self.damaged(f"section names in section {names_index} of {count}")
        names = self.data[raw[names_index][4] : raw[names_index][4] + raw[names_index][5]] if count else b""
        sections = []
        for i, (name, type_, flags, address, where, size, link, info, alignment, entry) in enumerate(raw):
            section = Section(i, _text(names, name), type_, flags, address, where, size, link, info, alignment, entry)
            self.check(f"section {section.name}", where if type_ != SHT_NOBITS else 0, section.file_size)
            sections.append(section)
        return tuple(sections)

    def segments(self, offset: int, width: int, count: int) -> Iterator[Segment]:
        for i in range(count):
            if self.is_64:
                type_, flags, where, address, _, size, memory, _ = struct.unpack_from(
                    self.order + "IIQQQQQQ", self.data, offset + i * width
                )
            else:
                type_, where, address, _, size, memory, flags, _ = struct.unpack_from(
                    self.order + "IIIIIIII", self.data, offset + i * width
                )
            self.check("a segment", where, size)
            yield Segment(type_, flags, where, address, size, memory)

    def symbols(self, table: Section, sections: tuple[Section, ...]) -> Iterator[Symbol]:
        if table.link >= len(sections):
            raise self.damaged(f"symbol names in section {table.link} of {len(sections)}")
        strings = sections[table.link]
        names = self.data[strings.offset : strings.offset + strings.file_size]
        entries = self.data[table.offset : table.offset + table.size]
        layout = struct.Struct(self.order + ("IBBHQQ" if self.is_64 else "IIIBBH"))
        if len(entries) % layout.size:
            raise self.damaged(f"{table.name} of {len(entries)} bytes")
        for fields in layout.iter_unpack(entries):
            if self.is_64:
                name, info, _, section, address, size = fields
            else:
                name, address, size, info, _, section = fields
            yield Symbol(_text(names, name), address, size, info & 15, info >> 4, section)

    def build_id(self, sections: tuple[Section, ...]) -> str:
        for section in sections:
            if section.type != SHT_NOTE:
                continue
            position, end = section.offset, section.offset + section.size
            while position + 12 <= end:
                name, size, type_ = struct.unpack_from(self.order + "III", self.data, position)
                start = position + 12 + (name + 3) // 4 * 4
                if type_ == NT_GNU_BUILD_ID and self.data[position + 12 : position + 16] == b"GNU\0":
                    return self.data[start : start + size].hex()
                position = start + (size + 3) // 4 * 4
        return ""


def _text(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    return table[offset : end if end >= 0 else len(table)].decode("utf-8", "replace")
