"""Zeros that an object asks for by common symbols (`.comm`, -fcommon, COMMON of Fortran).

No section of the object has them. The linker gives each a place in .bss.
"""

from __future__ import annotations

from dataclasses import replace

from sizeguard.base.errors import InputError
from sizeguard.formats.elf.image import Elf, Section
from sizeguard.formats.elf.layout import SHF_ALLOC, SHF_WRITE, SHN_COMMON, SHT_NOBITS
from sizeguard.formats.elf.reader import MAX_SIZE

NAME = "COMMON"  # as in linker scripts
SECTION_COMMON = SHN_COMMON - 0x10000  # as in SymbolTable.section, where it is negative


def with_common(elf: Elf) -> Elf:
    """Add a section for an object's common symbols; return other files unchanged.

    Raises InputError if they are larger than any memory.
    """
    if not elf.is_relocatable:
        return elf
    size = sum(sum(t.size[t.section == SECTION_COMMON].tolist()) for t in elf.static_symbols)
    if not size:
        return elf
    if size > MAX_SIZE:
        raise InputError(f"{elf.path}: a damaged ELF file: common symbols of {size} bytes")
    index, flags = len(elf.sections), SHF_ALLOC | SHF_WRITE
    added = Section(index, NAME, SHT_NOBITS, flags, 0, elf.size, size, 0, 0, 1, 0)
    return replace(elf, sections=(*elf.sections, added))
