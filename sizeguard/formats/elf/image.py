"""Turns an ELF file's tables into what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from sizeguard.errors import InputError
from sizeguard.formats.elf.layout import (
    ET_REL,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_TLS,
    SHF_WRITE,
    SHT_ANDROID_REL,
    SHT_ANDROID_RELA,
    SHT_ANDROID_RELR,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_REL,
    SHT_RELA,
    SHT_RELR,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    Layout,
)
from sizeguard.formats.elf.relocations import Relocations, read_packed, read_plain, read_relr
from sizeguard.formats.elf.symbols import Bytes, Symbol, SymbolTable, read_symbols

RELOCATION_TYPES = frozenset({SHT_REL, SHT_RELA, SHT_RELR, SHT_ANDROID_REL, SHT_ANDROID_RELA, SHT_ANDROID_RELR})


# Not frozen, though nobody writes it: a link of small objects has thousands, and making them would take half of reading it.
@dataclass(slots=True, unsafe_hash=True)
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
    def is_thread_local(self) -> bool:
        return bool(self.flags & SHF_TLS)

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

    @property
    def ram_size(self) -> int:
        """Bytes of memory that it takes for itself: of a writable one, NOBITS or not, but not what lld pads its read-only part with."""
        return self.size if self.is_allocated and self.is_writable and self.name != ".relro_padding" else 0


@dataclass(frozen=True, slots=True)
class Segment:
    """A program header."""

    type: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int


@dataclass(frozen=True, eq=False)
class Elf:
    """An ELF file. header and the header tables: bytes in the file, as (offset, size). data: the file, mapped if it is large.

    Tables are read when they are asked for, as columns: 530,469 symbols as objects take 1.3 s and 200 MB.
    """

    path: Path
    size: int
    type: int
    machine: str
    layout: Layout
    build_id: str
    header: tuple[int, int]
    program_headers: tuple[int, int]
    section_headers: tuple[int, int]
    sections: tuple[Section, ...]
    segments: tuple[Segment, ...]
    data: Bytes = field(repr=False)

    @property
    def is_relocatable(self) -> bool:
        return self.type == ET_REL

    @cached_property
    def is_stripped(self) -> bool:
        return all(section.type != SHT_SYMTAB for section in self.sections)

    @cached_property
    def load(self) -> int:
        """Bytes of all ALLOC sections but NOBITS."""
        return sum(section.load_size for section in self.sections)

    @cached_property
    def ram(self) -> int:
        """Bytes of writable ALLOC sections with NOBITS, less what lld pads its read-only part with."""
        return sum(section.ram_size for section in self.sections)

    def content(self, section: Section) -> bytes:
        """The section's bytes in the file."""
        return self.view(section).tobytes()

    def view(self, section: Section) -> Bytes:
        """The same without a copy."""
        return self.data[section.offset : section.offset + section.file_size]

    def section(self, name: str) -> Section | None:
        """The first of that name."""
        return next((section for section in self.sections if section.name == name), None)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Of .symtab, or of .dynsym if the file is stripped."""
        tables = self.static_symbols or self.dynamic_symbols
        return tuple(symbol for table in tables for symbol in table.objects())

    @cached_property
    def static_symbols(self) -> tuple[SymbolTable, ...]:
        """.symtab; empty if the file is stripped."""
        return tuple(self._table(section) for section in self.sections if section.type == SHT_SYMTAB)

    @cached_property
    def dynamic_symbols(self) -> tuple[SymbolTable, ...]:
        """.dynsym"""
        return tuple(self._table(section) for section in self.sections if section.type == SHT_DYNSYM and not section.is_nobits)

    def table_of(self, section: Section) -> SymbolTable | None:
        """The symbol table that a section (relocations, versions, a hash table) links to."""
        return next((t for t in (*self.static_symbols, *self.dynamic_symbols) if t.section_index == section.link), None)

    def _table(self, section: Section) -> SymbolTable:
        if section.link >= len(self.sections):
            raise InputError(f"{self.path}: a damaged ELF file: symbol names in section {section.link} of {len(self.sections)}")
        strings = self.sections[section.link]
        indices = next((s for s in self.sections if s.type == SHT_SYMTAB_SHNDX and s.link == section.index), None)
        extended = self.data[:0] if indices is None else self.view(indices)
        place = (section.index, section.offset, section.file_size)
        low = min(strings.offset, self.size)  # of a debug file the names of .dynsym are NOBITS
        return read_symbols(self.path, self.data, self.layout, place, (low, low + strings.file_size), extended)

    def relocation_table(self, section: Section) -> Relocations:
        """The relocations of a section of RELOCATION_TYPES."""
        extent = (section.offset, section.file_size)
        if section.type in (SHT_RELR, SHT_ANDROID_RELR):
            return read_relr(self.data, self.layout, *extent)
        if section.type in (SHT_ANDROID_REL, SHT_ANDROID_RELA):
            return read_packed(self.path, self.data, self.layout, *extent)
        return read_plain(self.data, self.layout, *extent, addend=section.type == SHT_RELA)

    def relocations(self, section: Section) -> Iterator[tuple[int, int, int]]:
        """Of a section with addends (RELA): offset in the section that it relocates, index of the symbol, addend."""
        table = self.relocation_table(section)
        return zip(table.offset.tolist(), table.symbol.tolist(), table.addend.tolist(), strict=True)
