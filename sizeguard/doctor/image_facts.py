"""Facts about an ELF image that several checks need."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cached_property

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.doctor.remedies import ImageToolchain, joined_changes, toolchains_of
from sizeguard.formats.elf import (
    ET_DYN,
    RELOCATION_TYPES,
    SHN_UNDEF,
    SHT_DYNAMIC,
    SHT_REL,
    SHT_RELA,
    Elf,
    Section,
    Symbol,
)
from sizeguard.formats.elf.unwind import NOWHERE, UnwindRecords, header_table, read_frames

# Type of the relocations that add the image's address, by machine.
RELATIVE = {
    "x86_64": 8, "x32": 8, "i386": 8, "aarch64": 1027, "arm": 23, "riscv64": 3, "riscv32": 3,
    "ppc64": 22, "ppc64le": 22, "s390x": 12,
}  # fmt: skip

_LARGEST_PADDING = 32  # bytes to which compilers align data on x86-64


@dataclass(frozen=True, slots=True, eq=False)
class SectionFixups:
    """Relocations of one section, as columns: the address and the type of each."""

    section: Section
    offset: Int
    type: Int


@dataclass(frozen=True, eq=False)
class ImageFacts:
    """An image, and facts that are computed once."""

    elf: Elf

    @cached_property
    def is_dynamic(self) -> bool:
        """Return whether a loader links it at run time."""
        return any(section.type == SHT_DYNAMIC for section in self.elf.sections)

    @cached_property
    def is_library(self) -> bool:
        """Return whether it is a shared library, not a program; it has no interpreter."""
        return self.elf.type == ET_DYN and self.is_dynamic and not self.elf.section(".interp")

    @cached_property
    def names_other_linker(self) -> bool:
        """Return whether the image names a linker other than GNU ld."""
        comment = self.elf.section(".comment")
        text = self.elf.content(comment) if comment is not None else b""
        is_gold = self.elf.section(".note.gnu.gold-version") is not None
        return is_gold or b"LLD" in text or b"mold" in text

    @cached_property
    def needs_glibc(self) -> bool:
        """Return whether the image needs a version of glibc."""
        texts = self.elf.section(".dynstr")
        return texts is not None and b"\0GLIBC_2." in self.elf.content(texts)

    @cached_property
    def defined(self) -> tuple[Symbol, ...]:
        """Symbols that the image defines, from .symtab, else .dynsym; each address and name once.

        Symbols without a section are left out.
        """
        known = {
            (symbol.name, symbol.address): symbol
            for symbol in self.elf.symbols
            if SHN_UNDEF < symbol.section < len(self.elf.sections) and symbol.name
        }
        return tuple(known.values())

    @cached_property
    def toolchains(self) -> tuple[ImageToolchain, ...]:
        """Toolchains that made the image's code."""
        return toolchains_of(self.elf, self.defined)

    def change(self, change: Callable[[ImageToolchain], str]) -> str:
        """Return a change of the build in the image's toolchains; empty if none of them has it."""
        return joined_changes(self.toolchains, change)

    def linker_change(self, option: str) -> str:
        """Return how the image's toolchains pass an option to the linker."""
        return self.change(lambda toolchain: toolchain.linked(option))

    @cached_property
    def exported(self) -> tuple[Symbol, ...]:
        """Symbols of .dynsym that the image defines."""
        return tuple(
            symbol
            for table in self.elf.dynamic_symbols
            for symbol in table.objects()
            if SHN_UNDEF < symbol.section < len(self.elf.sections) and symbol.name
        )

    @cached_property
    def imported(self) -> frozenset[str]:
        """Names in .dynsym that the image imports."""
        return frozenset(
            symbol.name
            for table in self.elf.dynamic_symbols
            for symbol in table.objects()
            if symbol.section == SHN_UNDEF
        )

    @cached_property
    def has_runtime_inside(self) -> bool:
        """Return whether the compiler's libraries are or may be linked in; their code stays."""
        names = {symbol.name for symbol in self.defined}
        inside = {"_Unwind_RaiseException", "__cxa_throw", "__libc_start_main", "_Unwind_Resume"}
        if not self.is_dynamic or inside & names:
            return True
        has_tables = self.frames is not None and bool((self.frames.lsda != NOWHERE).any())
        unwinds = any(n.startswith(("_Unwind_", "__gxx_personality")) for n in self.imported)
        return self.elf.is_stripped and has_tables and not unwinds

    @cached_property
    def frames(self) -> UnwindRecords | None:
        """The unwind records; None if there are none."""
        section = self.elf.section(".eh_frame")
        if section is None or not section.file_size:
            return None
        header = self.elf.section(".eh_frame_hdr")
        table = header_table(self.elf, header) if header is not None else None
        return read_frames(self.elf, section, table)

    @cached_property
    def fixups(self) -> tuple[SectionFixups, ...]:
        """The loader's relocations by section.

        Relocations of the PLT and packed ones are left out.
        """
        found = []
        for section in self.elf.sections:
            if section.type not in (SHT_REL, SHT_RELA) or not section.is_allocated:
                continue
            if section.name.endswith((".plt", ".iplt")) or section.type not in RELOCATION_TYPES:
                continue
            table = self.elf.relocation_table(section)
            found.append(SectionFixups(section, table.offset, table.type.astype(np.int64)))
        return tuple(found)

    @cached_property
    def fixup_places(self) -> Int:
        """Addresses with unpacked relocations, ascending."""
        places = [fixups.offset for fixups in self.fixups]
        return np.sort(np.concatenate(places)) if places else np.zeros(0, np.int64)

    def fixups_in(self, start: int, size: int) -> int:
        """Count the unpacked relocations in a range of addresses."""
        low, high = np.searchsorted(self.fixup_places, [start, start + size])
        return int(high - low)

    @cached_property
    def fixup_size(self) -> int:
        """Bytes of an unpacked relocation."""
        return next((fixups.section.entry_size for fixups in self.fixups), 0)

    def content_at(self, section: Section, address: int, size: int) -> bytes:
        """Return the bytes at an address of a section."""
        start = section.offset + address - section.address
        end = min(start + size, section.offset + section.file_size)
        return self.elf.data[start:end].tobytes()

    @cached_property
    def _ends(self) -> Int:
        """Ends of all symbols with a size, ascending."""
        ends = [symbol.address + symbol.size for symbol in self.defined if symbol.size]
        return np.unique(np.array(ends, np.uint64).view(np.int64))

    def padding_before(self, symbol: Symbol) -> int:
        """Return the bytes between a symbol and the end of the previous one, possibly padding."""
        place = int(np.searchsorted(self._ends, symbol.address, side="right"))
        gap = symbol.address - int(self._ends[place - 1]) if place else 0
        return gap if 0 <= gap < _LARGEST_PADDING else 0

    @cached_property
    def hash_heads(self) -> int:
        """Bytes of .gnu.hash that depend on the number of exports: its buckets and filter."""
        section = self.elf.section(".gnu.hash")
        return max(section.size - 16 - 4 * len(self.exported), 0) if section is not None else 0

    def hash_heads_won(self, removed: int) -> int:
        """Return the most bytes of those that go with some exported names.

        If the linker's rule is known, the buckets and filter of the names that remain stay.
        """
        word, count = self.elf.layout.word_size, len(self.exported)
        for rule in (_gnu_hash_head, _lld_hash_head):
            if rule(count, word) == self.hash_heads:
                return max(self.hash_heads - rule(max(count - removed, 0), word), 0)
        return self.hash_heads

    def export_size(self, name: str) -> int:
        """Return a symbol's bytes in the tables for dynamic linking, without shared buckets."""
        entry = 24 if self.elf.layout.is_64 else 16
        tables = (self.elf.section(".gnu.version"), 2), (self.elf.section(".gnu.hash"), 4)
        others = sum(width for section, width in tables if section is not None)
        old = self.elf.section(".hash")
        width = old.entry_size if old is not None else 0
        return entry + others + width + len(name.encode()) + 1


# The numbers of buckets that GNU ld chooses from.
_BUCKETS = (
    *(1, 3, 17, 37, 67, 97, 131, 197, 263, 521, 1031, 2053, 4099, 8209, 16411, 32771),
    *(65537, 131101, 262147),
)


def _gnu_hash_head(names: int, word: int) -> int:
    """Compute the bytes of .gnu.hash's buckets and filter as GNU ld does."""
    following = itertools.pairwise(_BUCKETS)
    buckets = next((low for low, high in following if names < high), _BUCKETS[-1])
    bits = names.bit_length()
    if bits < 3:
        bits = 5
    else:
        bits += 3 if names >> (bits - 2) & 1 else 2
    words = 1 << max(bits - (8 * word).bit_length() + 1, 0)
    return 4 * max(buckets, 2) + word * words


def _lld_hash_head(names: int, word: int) -> int:
    """Compute the same as lld does."""
    words = 1 << (names * 12 // (8 * word)).bit_length()
    return 4 * max(names // 4, 1) + word * words
