"""Kind of an ELF file: a program, a library or an object."""

from __future__ import annotations

from sizeguard.formats.elf.image import Elf
from sizeguard.formats.elf.layout import ET_DYN, ET_EXEC, ET_REL, PT_INTERP
from sizeguard.formats.elf.needed import is_marked_as_program
from sizeguard.formats.link_kind import LIBRARY, OBJECT, PIE, PROGRAM


def elf_kind(elf: Elf) -> str:
    """Return the kind of an ELF file; empty for a core dump and unknown types."""
    if elf.type == ET_DYN:
        has_interpreter = any(segment.type == PT_INTERP for segment in elf.segments)
        return PIE if has_interpreter or is_marked_as_program(elf) else LIBRARY
    return {ET_EXEC: PROGRAM, ET_REL: OBJECT}.get(elf.type, "")
