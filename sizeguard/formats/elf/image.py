"""An ELF file as its tables describe it: sections, segments, symbols, relocations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.texts import Bytes
from sizeguard.formats.elf.layout import (
    ET_REL,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_TLS,
    SHF_WRITE,
    SHN_UNDEF,
    SHT_ANDROID_REL,
    SHT_ANDROID_RELA,
    SHT_ANDROID_RELR,
    SHT_CREL,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_REL,
    SHT_RELA,
    SHT_RELR,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    STT_TLS,
    Layout,
    signed,
)
from sizeguard.formats.elf.relocations import (
    Relocations,
    joined,
    read_crel,
    read_packed,
    read_plain,
    read_relr,
)
from sizeguard.formats.elf.symbols import Symbol, SymbolTable, read_symbols

RELOCATION_TYPES = frozenset(
    (
        *(SHT_REL, SHT_RELA, SHT_RELR, SHT_CREL),
        *(SHT_ANDROID_REL, SHT_ANDROID_RELA, SHT_ANDROID_RELR),
    )
)


# Not frozen, although nothing writes to it: a link of small objects has thousands, and frozen ones
# would double the time of reading.
@dataclass(slots=True, unsafe_hash=True)
class Section:
    """A section; offset and size in bytes.

    size is the size in memory; a NOBITS section has no bytes in the file.
    """

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
        """Return whether it is loaded."""
        return bool(self.flags & SHF_ALLOC)

    @property
    def is_writable(self) -> bool:
        """Return whether it is writable when loaded."""
        return bool(self.flags & SHF_WRITE)

    @property
    def is_executable(self) -> bool:
        """Return whether it contains code."""
        return bool(self.flags & SHF_EXECINSTR)

    @property
    def is_thread_local(self) -> bool:
        """Return whether each thread has its own copy."""
        return bool(self.flags & SHF_TLS)

    @property
    def is_nobits(self) -> bool:
        """Return whether it consists of zeros that are not in the file."""
        return self.type == SHT_NOBITS

    @property
    def file_size(self) -> int:
        """Bytes of it in the file."""
        return 0 if self.is_nobits else self.size

    @property
    def load_size(self) -> int:
        """Bytes that are loaded from the file."""
        return self.file_size if self.is_allocated else 0

    @property
    def ram_size(self) -> int:
        """Bytes of memory that only this section uses: those of writable sections, NOBITS or not.

        The padding after lld's read-only part does not count.
        """
        return (
            self.size
            if self.is_allocated and self.is_writable and self.name != ".relro_padding"
            else 0
        )


@dataclass(frozen=True, slots=True)
class Segment:
    """A program header.

    physical: address of the bytes before the program runs, where firmware is stored
    """

    type: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    physical: int = 0


@dataclass(frozen=True, eq=False)
class Elf:
    """An ELF file.

    header, program_headers, section_headers: extents in the file, as (offset, size) in bytes.
    data: the file's bytes, mapped if the file is large.

    Tables are read on request, as columns: 530,469 symbols as objects take 1.3 s and 200 MB.
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
        """Return whether it is an object, before linking."""
        return self.type == ET_REL

    @cached_property
    def is_stripped(self) -> bool:
        """Return whether there is no .symtab."""
        return all(section.type != SHT_SYMTAB for section in self.sections)

    @property
    def is_debug_file(self) -> bool:
        """Return whether the bytes of all code are left out, as by objcopy --only-keep-debug."""
        code = [section for section in self.sections if section.is_executable and section.size]
        return bool(code) and all(section.is_nobits for section in code)

    @cached_property
    def load(self) -> int:
        """Bytes of all ALLOC sections without NOBITS."""
        return sum(section.load_size for section in self.sections)

    @cached_property
    def ram(self) -> int:
        """Bytes of writable ALLOC sections with NOBITS.

        The padding after lld's read-only part does not count.
        """
        return sum(section.ram_size for section in self.sections)

    def content(self, section: Section) -> bytes:
        """Return a section's bytes in the file."""
        return self.view(section).tobytes()

    def view(self, section: Section) -> Bytes:
        """Return a section's bytes in the file, without a copy."""
        return self.data[section.offset : section.offset + section.file_size]

    def section(self, name: str) -> Section | None:
        """Return the first section of that name; None if there is none."""
        return next((section for section in self.sections if section.name == name), None)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of .symtab, or of .dynsym if the file is stripped."""
        tables = self.static_symbols or self.dynamic_symbols
        return tuple(symbol for table in tables for symbol in table.objects())

    @cached_property
    def static_symbols(self) -> tuple[SymbolTable, ...]:
        """.symtab; empty if the file is stripped."""
        return tuple(
            self._table(section) for section in self.sections if section.type == SHT_SYMTAB
        )

    @cached_property
    def dynamic_symbols(self) -> tuple[SymbolTable, ...]:
        """.dynsym; empty if there is none."""
        return tuple(
            self._table(section)
            for section in self.sections
            if section.type == SHT_DYNSYM and not section.is_nobits
        )

    def table_of(self, section: Section) -> SymbolTable | None:
        """Return the symbol table that a section (relocations, versions, a hash table) links to."""
        return next(
            (
                t
                for t in (*self.static_symbols, *self.dynamic_symbols)
                if t.section_index == section.link
            ),
            None,
        )

    def _table(self, section: Section) -> SymbolTable:
        """Read a section's symbol table."""
        if section.link >= len(self.sections):
            raise InputError(
                f"{self.path}: a damaged ELF file: symbol names in section {section.link} of"
                f" {len(self.sections)}"
            )
        strings = self.sections[section.link]
        indices = next(
            (s for s in self.sections if s.type == SHT_SYMTAB_SHNDX and s.link == section.index),
            None,
        )
        extended = self.data[:0] if indices is None else self.view(indices)
        place = (section.index, section.offset, section.file_size)
        low = min(strings.offset, self.size)  # in a debug file the names of .dynsym are NOBITS
        table = read_symbols(
            self.path, self.data, self.layout, place, (low, low + strings.file_size), extended
        )
        if not self.section_headers[1]:
            return self._resettled(table, np.ones(len(table), bool))
        if section.type == SHT_DYNSYM and not self.is_relocatable:
            return self._resettled(table, self._strays(table))
        return table

    def _strays(self, table: SymbolTable) -> npt.NDArray[np.bool_]:
        """Return which symbols are outside of the section that they name.

        `objcopy -R .note.gnu.build-id` renumbers the sections, but not in .dynsym, since loaders
        read only addresses. Thread-local symbols have no address.
        """
        start = np.array([signed(section.address) for section in self.sections], np.int64)
        size = np.array([section.size for section in self.sections], np.int64)
        named = np.clip(table.section, 0, len(start) - 1)
        inside = (table.address >= start[named]) & (table.address - start[named] <= size[named])
        has_place = (table.section > SHN_UNDEF) & (table.type != STT_TLS)
        strays: npt.NDArray[np.bool_] = has_place & (~inside | (named != table.section))
        return strays

    def _resettled(self, table: SymbolTable, rows: npt.NDArray[np.bool_]) -> SymbolTable:
        """Find the sections of some symbols by address."""
        if not rows.any():
            return table
        section = np.minimum(table.section, SHN_UNDEF)
        holders = sorted(
            (signed(s.address), s.size, s.index)
            for s in self.sections
            if s.size and s.is_allocated and not (s.is_nobits and s.is_thread_local)
        )
        if holders:
            start, size, index = np.array(holders, np.int64).T
            at = np.maximum(np.searchsorted(start, table.address, side="right") - 1, 0)
            inside = (table.address >= start[at]) & (table.address - start[at] < size[at])
            inside &= table.section != SHN_UNDEF
            section[inside] = index[at[inside]]
        section[table.type == STT_TLS] = SHN_UNDEF
        return replace(table, section=np.where(rows, section, table.section))

    def relocation_table(self, section: Section) -> Relocations:
        """Return the relocations of a section whose type is one of RELOCATION_TYPES."""
        extent = (section.offset, section.file_size)
        if section.type in (SHT_RELR, SHT_ANDROID_RELR):
            return read_relr(self.data, self.layout, *extent)
        if section.type in (SHT_ANDROID_REL, SHT_ANDROID_RELA):
            return read_packed(self.path, self.data, self.layout, *extent)
        if section.type == SHT_CREL:
            return read_crel(self.path, self.data, self.layout, *extent)
        return read_plain(self.data, self.layout, *extent, addend=section.type == SHT_RELA)

    def relocation_tables(self, sections: Sequence[Section]) -> tuple[Relocations, list[int]]:
        """Join the relocations of some sections, and return the number of each.

        start and end of the joined relocations have no meaning.
        """
        if not sections or any(section.type != SHT_RELA for section in sections):
            tables = [self.relocation_table(section) for section in sections]
            return joined(tables), [len(table) for table in tables]
        # One table for an object's relocations takes 40 times fewer calls than one table for each
        # section.
        size = self.layout.relocation(addend=True).itemsize
        counts = [section.file_size // size for section in sections]
        data = np.concatenate(
            [self.data[s.offset :][: size * n] for s, n in zip(sections, counts, strict=True)]
        )
        return read_plain(data, self.layout, 0, len(data), addend=True), counts


OLD_DEBUG = ".zdebug_"  # prefix of compressed sections in GNU tools before SHF_COMPRESSED


def has_debug_information(sections: Iterable[Section]) -> bool:
    """Return whether debug information is among sections."""
    return any(debug_name(s.name) == ".debug_info" and s.file_size for s in sections)


def debug_name(name: str) -> str:
    """Return .debug_NAME for .zdebug_NAME, the older form of a compressed section."""
    return f".debug_{name[len(OLD_DEBUG) :]}" if name.startswith(OLD_DEBUG) else name
