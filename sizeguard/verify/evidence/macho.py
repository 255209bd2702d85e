"""Mach-O images with the interface that verification uses for ELF.

Names lose their first underscore. Objects are in `macho_objects`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.elf import (
    ET_DYN,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_MERGE,
    SHF_WRITE,
    SHT_FINI_ARRAY,
    SHT_INIT_ARRAY,
    SHT_NOBITS,
    SHT_PROGBITS,
    STT_FUNC,
    STT_OBJECT,
    Section,
    Symbol,
)
from sizeguard.formats.macho import MachO, read_macho
from sizeguard.formats.macho import Section as MachoSection
from sizeguard.formats.macho.constants import (
    MH_EXECUTE,
    N_EXT,
    N_SECT,
    N_STAB,
    N_TYPE,
    S_INIT_FUNC_OFFSETS,
    S_MOD_INIT_FUNC_POINTERS,
    S_MOD_TERM_FUNC_POINTERS,
)
from sizeguard.formats.macho.fixups import fixups
from sizeguard.formats.macho.linkedit import exports
from sizeguard.linkgraph.macho.atoms import MERGED_TYPES

_TYPES = {
    S_MOD_INIT_FUNC_POINTERS: SHT_INIT_ARRAY,
    S_INIT_FUNC_OFFSETS: SHT_INIT_ARRAY,
    S_MOD_TERM_FUNC_POINTERS: SHT_FINI_ARRAY,
}
_HEADER = "_mh_execute_header"


def plain(name: str) -> str:
    """Drop the first underscore: _ZN2sg3addEv for __ZN2sg3addEv, main for _main."""
    return name.removeprefix("_")


@dataclass(frozen=True, slots=True)
class MachoSymbolTable:
    """Symbol table with plain names."""

    rows: tuple[Symbol, ...]

    def objects(self) -> tuple[Symbol, ...]:
        """List the symbols as objects."""
        return self.rows

    def defined_names(self) -> list[str]:
        """Return the names of the definitions; there are no other rows."""
        return [symbol.name for symbol in self.rows]

    def defined(self, index: int) -> Symbol:
        """Return the definition with the name at an index in `defined_names`."""
        return self.rows[index]


@dataclass(frozen=True, eq=False)
class View:
    """Common part of images and objects."""

    macho: MachO
    path: Path

    @property
    def machine(self) -> str:
        """Machine's name."""
        return self.macho.arch

    @property
    def build_id(self) -> str:
        """UUID in hexadecimal."""
        return self.macho.uuid

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """Bytes of the file."""
        return self.macho.data

    def content(self, section: Section) -> bytes:
        """Return the bytes of a section."""
        return self.macho.data[section.offset : section.offset + section.file_size].tobytes()


@dataclass(frozen=True, eq=False)
class MachoImage(View):
    """Linked image."""

    type: int = ET_DYN

    @property
    def is_program(self) -> bool:
        """Return whether the image is an executable."""
        return self.macho.filetype == MH_EXECUTE

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Sections after an empty one, as in ELF, so that no symbol is in section 0."""
        found = [made_section(0, "", 0, 0, 0, 0, 0, 1)]
        for section in self.macho.sections:
            flags = (
                section_flags(section, self.macho.section_is_writable(section))
                if self.macho.section_is_loaded(section)
                else 0
            )
            kind = SHT_NOBITS if section.is_zerofill else _TYPES.get(section.type, SHT_PROGBITS)
            found.append(
                made_section(
                    section.index + 1,
                    section.full_name,
                    kind,
                    flags,
                    section.address,
                    section.offset,
                    section.size,
                    1,
                )
            )
        return tuple(found)

    def section(self, name: str) -> Section | None:
        """Return the first section with that name; None if there is none."""
        return next((section for section in self.sections if section.name == name), None)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Definitions; each extends to the next one in its section."""
        rows = sorted(
            (int(self.macho.symbols.section[i]), int(self.macho.symbols.value[i]), i)
            for i in defined(self.macho)
            if self.macho.symbols.names[i] != f"_{_HEADER}"
        )
        found = []
        place, end = (0, 0), 0
        for number, address, i in reversed(rows):
            section = self.macho.sections[number - 1]
            if number != place[0]:
                end = section.address + section.size
            elif address != place[1]:
                end = place[1]
            place = number, address
            kind = STT_FUNC if section.is_code else STT_OBJECT
            found.append(
                Symbol(plain(self.macho.symbols.names[i]), address, end - address, kind, 1, number)
            )
        return tuple(reversed(found))

    @property
    def static_symbols(self) -> tuple[MachoSymbolTable, ...]:
        """Symbol tables, with all definitions."""
        return (MachoSymbolTable(self.symbols),)

    @cached_property
    def dynamic_symbols(self) -> tuple[MachoSymbolTable, ...]:
        """Symbol tables of exports.

        The entry of a program is left out, since it is exported in any case.
        """
        hidden = {_HEADER, *(["main"] if self.is_program else [])}
        rows = []
        for export in exports(self.macho):
            where = next(
                (
                    s
                    for s in self.macho.sections
                    if s.address <= export.address < s.address + s.size
                ),
                None,
            )
            if plain(export.name) not in hidden and where is not None:
                kind = STT_FUNC if where.is_code else STT_OBJECT
                rows.append(Symbol(plain(export.name), export.address, 0, kind, 1, where.index + 1))
        return (MachoSymbolTable(tuple(rows)),)

    @cached_property
    def is_stripped(self) -> bool:
        """Return whether it has no local symbols (hidden functions are local)."""
        return not any(not self.macho.symbols.type[i] & N_EXT for i in defined(self.macho))

    @cached_property
    def pointers(self) -> Mapping[int, int]:
        """Places of pointers into the image → the addresses that dyld writes there."""
        found = fixups(self.macho)
        inside = found.symbol < 0
        return dict(zip(found.address[inside].tolist(), found.target[inside].tolist(), strict=True))

    @cached_property
    def initializers(self) -> Mapping[int, int]:
        """Addresses of functions that run at start-up → the slots that name them."""
        slots: dict[int, int] = {}
        for section in self.macho.sections:
            if section.type == S_INIT_FUNC_OFFSETS:  # from the header
                words = np.frombuffer(
                    self.macho.content(section)[: section.size // 4 * 4].tobytes(), "<u4"
                )
                slots |= {
                    self.macho.base + int(word): section.address + 4 * i
                    for i, word in enumerate(words)
                }
            elif section.type == S_MOD_INIT_FUNC_POINTERS:
                for place in range(section.address, section.address + section.size, 8):
                    if place in self.pointers:
                        slots[self.pointers[place]] = place
        return slots


def read_macho_image(path: Path) -> MachoImage:
    """Read a Mach-O image. Raises InputError if it is damaged."""
    return MachoImage(read_macho(path), path)


def defined(macho: MachO) -> list[int]:
    """List the numbers of symbols that are defined in a section."""
    symbols = macho.symbols
    return [
        int(i)
        for i in np.flatnonzero(
            (symbols.type & N_STAB == 0) & (symbols.type & N_TYPE == N_SECT) & (symbols.section > 0)
        )
    ]


def section_kind(section: MachoSection) -> int:
    """Return ELF's type of a section."""
    return SHT_NOBITS if section.is_zerofill else _TYPES.get(section.type, SHT_PROGBITS)


def section_flags(section: MachoSection, is_writable: bool) -> int:
    """Return ELF's flags of a loaded section."""
    merged = section.type in MERGED_TYPES
    return (
        SHF_ALLOC
        | (SHF_EXECINSTR if section.is_code else 0)
        | (SHF_WRITE if is_writable else 0)
        | (SHF_MERGE if merged else 0)
    )


# More than 6 parameters: the fields of an ELF section header.
def made_section(
    index: int, name: str, kind: int, flags: int, address: int, offset: int, size: int, align: int
) -> Section:
    """Make a section with the fields of ELF."""
    return Section(index, name, kind, flags, address, offset, size, 0, 0, align, 0)
