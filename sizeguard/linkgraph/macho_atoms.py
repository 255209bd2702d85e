"""Turns a Mach-O object into atoms, each what a linker moves or leaves as a whole, and into what they refer to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sizeguard.errors import InputError
from sizeguard.formats.macho.constants import N_EXT, N_SECT, N_STAB, N_TYPE
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.relocations import relocations

N_ALT_ENTRY = 0x200
S_CSTRING, S_LITERAL_4, S_LITERAL_8, S_LITERAL_16 = 2, 3, 4, 14
LITERALS = {S_LITERAL_4: 4, S_LITERAL_8: 8, S_LITERAL_16: 16}
COMPACT_UNWIND = 32  # bytes of an entry: function, length, encoding, personality, exception table
CPU_X86_64, CPU_ARM64 = 0x01000007, 0x0100000C
ARM64_ADDEND = 10
_IMMEDIATE = {6: 1, 7: 2, 8: 4}  # X86_64_RELOC_SIGNED_1 and so on: bytes of the instruction behind the field


@dataclass(frozen=True, slots=True)
class Atom:
    """What lies between two symbols of a section (subsections via symbols), a literal, or a whole section. start: in the section."""

    section: int
    start: int
    size: int
    align: int


@dataclass(frozen=True, slots=True)
class Reference:
    """A relocation: at `place` of its section, `length` bytes; type: its number in the architecture's list.

    symbol: what it names, and then value is added to that; -1: it means the byte `value` of section `section`
    """

    place: int
    length: int
    type: int
    symbol: int
    section: int
    value: int


@dataclass(frozen=True, eq=False)
class Atoms:
    """An object taken apart. names: of all its symbols, with the leading underscore."""

    label: str
    image: MachO
    names: list[bytes]

    @cached_property
    def rows(self) -> tuple[Atom, ...]:
        """In order of sections, those of debug information left out."""
        rows: list[Atom] = []
        for section in self.image.sections:
            if not section.is_debug:
                starts = self._starts(section)
                align = 1 << min(section.alignment, 15)
                ends = [*starts[1:], section.size]
                rows += [Atom(section.index, start, end - start, align) for start, end in zip(starts, ends, strict=True)]
        return tuple(rows)

    @cached_property
    def _table(self) -> dict[int, tuple[list[int], int]]:
        """Of a section where its atoms start, and the first's number."""
        table: dict[int, tuple[list[int], int]] = {}
        for number, atom in enumerate(self.rows):
            table.setdefault(atom.section, ([], number))[0].append(atom.start)
        return table

    def _starts(self, section: Section) -> list[int]:
        content = self.image.content(section)
        starts = [0]
        if section.type == S_CSTRING:
            starts += (np.flatnonzero(content == 0) + 1).tolist()
        elif section.type in LITERALS or section.name == "__compact_unwind":
            starts = list(range(0, section.size, LITERALS.get(section.type, COMPACT_UNWIND)))
        elif self.image.subsections_via_symbols and section.name != "__eh_frame":
            symbols = self.image.symbols
            chosen = (symbols.type & N_STAB == 0) & (symbols.type & N_TYPE == N_SECT) & (symbols.section == section.index + 1)
            chosen &= symbols.description & N_ALT_ENTRY == 0
            starts += (symbols.value[chosen] - section.address).tolist()
        return sorted({start for start in starts if 0 <= start < max(section.size, 1)})

    def of_section(self, section: int) -> range:
        """The atoms of a section."""
        starts, first = self._table.get(section, ([], 0))
        return range(first, first + len(starts))

    def at(self, section: int, offset: int) -> int:
        """The atom that has a byte of a section; -1 for a section without atoms."""
        if section not in self._table:
            return -1
        starts, first = self._table[section]
        return first + max(int(np.searchsorted(starts, offset, side="right")) - 1, 0)

    def of_symbol(self, i: int) -> tuple[int, int]:
        """The atom that a defined symbol is in, and where in it; (-1, 0) for others."""
        symbols = self.image.symbols
        section = int(symbols.section[i]) - 1
        if not 0 <= section < len(self.image.sections):
            return -1, 0
        offset = int(symbols.value[i]) - self.image.sections[section].address
        atom = self.at(section, offset)
        return (atom, offset - self.rows[atom].start) if atom >= 0 else (-1, 0)

    def is_external(self, i: int) -> bool:
        return bool(self.image.symbols.type[i] & N_EXT)

    def references(self, section: Section) -> Iterator[Reference]:
        """The relocations of a section. Raises InputError for one that names a symbol which is not there."""
        image = self.image
        table = relocations(image, section)
        content = image.content(section).tobytes()
        is_arm = image.cpu == CPU_ARM64
        added = 0
        for place, symbol, external, kind, pcrel, length in zip(
            table.address.tolist(),
            table.symbol.tolist(),
            table.external.tolist(),
            table.type.tolist(),
            table.pcrel.tolist(),
            table.length.tolist(),
            strict=True,
        ):
            if is_arm and kind == ARM64_ADDEND:
                added = symbol - (1 << 24) if symbol & 0x800000 else symbol  # of the entry behind this one
                continue
            # Fields of arm64's instructions hold nothing yet.
            value = int.from_bytes(content[place : place + length], "little", signed=True) if not is_arm or kind <= 1 else 0
            value, added = value + added, 0
            beyond = _IMMEDIATE.get(kind, 0) if pcrel and not is_arm else 0
            if external:
                if symbol >= len(self.names):
                    raise InputError(f"{self.label}: a relocation names symbol {symbol} of {len(self.names)}")
                yield Reference(place, length, kind, symbol, -1, value + beyond)
            elif 0 < symbol <= len(image.sections):
                if pcrel and not is_arm:
                    value += section.address + place + 4 + beyond  # counts from the end of the field, or of the instruction
                yield Reference(place, length, kind, -1, symbol - 1, value - image.sections[symbol - 1].address)
