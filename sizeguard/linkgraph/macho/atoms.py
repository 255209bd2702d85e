"""Atoms of a Mach-O object, each moved or removed as a whole, and their references."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.formats.macho.constants import (
    CPU_ARM64,
    N_ALT_ENTRY,
    N_EXT,
    N_SECT,
    N_STAB,
    N_TYPE,
    S_4BYTE_LITERALS,
    S_8BYTE_LITERALS,
    S_16BYTE_LITERALS,
    S_CSTRING_LITERALS,
)
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.relocations import relocations
from sizeguard.formats.macho.unwind import COMPACT_ENTRY

LITERALS = {S_4BYTE_LITERALS: 4, S_8BYTE_LITERALS: 8, S_16BYTE_LITERALS: 16}
MERGED_TYPES = frozenset({S_CSTRING_LITERALS, *LITERALS})  # the linker keeps equal contents once
ARM64_ADDEND = 10
# X86_64_RELOC_SIGNED_1 and so on → bytes of the instruction after the field.
_IMMEDIATE = {6: 1, 7: 2, 8: 4}
_MOST_ALIGNMENT = 1 << 15  # bytes; linkers take no larger one


@dataclass(frozen=True, slots=True)
class Atom:
    """Bytes between two symbols of a section, a literal, or a whole section.

    Symbols divide a section if the object has subsections via symbols. start: offset in the
    section; size and align are in bytes, too.
    """

    section: int
    start: int
    size: int
    align: int


@dataclass(frozen=True, slots=True)
class AtomReference:
    """A relocation of `length` bytes at `place` in its section.

    type:           number in the architecture's list
    symbol:         the symbol that it names; `value` is added to it
    section, value: if symbol is -1, the section and the offset in it
    """

    place: int
    length: int
    type: int
    symbol: int
    section: int
    value: int


@dataclass(frozen=True, eq=False)
class Atoms:
    """Atoms of an object. names: of all its symbols, with the leading underscore."""

    label: str
    image: MachO
    names: list[bytes]

    @cached_property
    def rows(self) -> tuple[Atom, ...]:
        """Atoms in the order of sections, without those of debug information."""
        rows: list[Atom] = []
        for section in self.image.sections:
            if not section.is_debug:
                starts = self._starts(section)
                most = min(section.alignment, _MOST_ALIGNMENT)
                ends = [*starts[1:], section.size]
                # lld aligns an atom as its start in the section is aligned.
                rows += [
                    Atom(section.index, start, end - start, min(most, start & -start or most))
                    for start, end in zip(starts, ends, strict=True)
                ]
        return tuple(rows)

    @cached_property
    def _table(self) -> dict[int, tuple[list[int], int]]:
        """Starts of a section's atoms, and the number of the first atom, by section."""
        table: dict[int, tuple[list[int], int]] = {}
        for number, atom in enumerate(self.rows):
            table.setdefault(atom.section, ([], number))[0].append(atom.start)
        return table

    def _starts(self, section: Section) -> list[int]:
        content = self.image.content(section)
        starts = [0]
        if section.type == S_CSTRING_LITERALS:
            starts += (np.flatnonzero(content == 0) + 1).tolist()
        elif section.type in LITERALS or section.name == "__compact_unwind":
            starts = list(range(0, section.size, LITERALS.get(section.type, COMPACT_ENTRY)))
        elif self.image.subsections_via_symbols and section.name != "__eh_frame":
            symbols = self.image.symbols
            chosen = (
                (symbols.type & N_STAB == 0)
                & (symbols.type & N_TYPE == N_SECT)
                & (symbols.section == section.index + 1)
            )
            chosen &= symbols.description & N_ALT_ENTRY == 0
            starts += (symbols.value[chosen] - section.address).tolist()
        return sorted({start for start in starts if 0 <= start < max(section.size, 1)})

    def of_section(self, section: int) -> range:
        """Return the numbers of a section's atoms."""
        starts, first = self._table.get(section, ([], 0))
        return range(first, first + len(starts))

    def at(self, section: int, offset: int) -> int:
        """Return the atom that contains a byte of a section; -1 for a section without atoms."""
        if section not in self._table:
            return -1
        starts, first = self._table[section]
        return first + max(bisect_right(starts, offset) - 1, 0)

    def of_symbol(self, i: int) -> tuple[int, int]:
        """Return the atom that contains a defined symbol, and the offset in it; else (-1, 0)."""
        symbols = self.image.symbols
        section = int(symbols.section[i]) - 1
        if not 0 <= section < len(self.image.sections):
            return -1, 0
        offset = int(symbols.value[i]) - self.image.sections[section].address
        atom = self.at(section, offset)
        return (atom, offset - self.rows[atom].start) if atom >= 0 else (-1, 0)

    def is_external(self, i: int) -> bool:
        """Return whether a symbol is visible to other objects."""
        return bool(self.image.symbols.type[i] & N_EXT)

    def references(self, section: Section) -> Iterator[AtomReference]:
        """Yield the relocations of a section.

        Raises InputError for a relocation with a symbol beyond the object's table.
        """
        image = self.image
        table = relocations(image, section)
        content = image.content(section).tobytes()
        is_arm = image.cpu == CPU_ARM64
        columns = (table.address, table.symbol, table.external, table.type, table.pcrel)
        added = 0
        for place, symbol, external, kind, pcrel, length in zip(
            *(column.tolist() for column in columns), table.length.tolist(), strict=True
        ):
            if is_arm and kind == ARM64_ADDEND:
                # A 24-bit addend for the next entry.
                added = symbol - (1 << 24) if symbol & 0x800000 else symbol
                continue
            value, added = added, 0
            if not is_arm or kind <= 1:  # fields of arm64's instructions contain no addend yet
                value += int.from_bytes(content[place : place + length], "little", signed=True)
            is_relative = pcrel and not is_arm
            beyond = _IMMEDIATE.get(kind, 0) if is_relative else 0
            if external:
                if symbol >= len(self.names):
                    raise InputError(
                        f"{self.label}: a relocation names symbol {symbol} of {len(self.names)}"
                    )
                yield AtomReference(place, length, kind, symbol, -1, value + beyond)
            elif 0 < symbol <= len(image.sections):
                if is_relative:
                    # The value is relative to the end of the field, or of the instruction.
                    value += section.address + place + 4 + beyond
                value -= image.sections[symbol - 1].address
                yield AtomReference(place, length, kind, -1, symbol - 1, value)
