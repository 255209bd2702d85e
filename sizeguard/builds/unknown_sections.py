"""Sections of the shipped file that are neither loaded nor known.

The file's growth limit counts their bytes; their names identify their origin.
"""

from __future__ import annotations

from pathlib import Path

from sizeguard.formats.elf import read_elf
from sizeguard.formats.sniff import ELF, image_format

# Sections that linkers and strip leave in a stripped file: comments, links to debug information,
# tables of names, notes and processor attributes.
_KNOWN = frozenset(
    {
        ".comment",
        ".gnu_debuglink",
        ".gnu_debugaltlink",
        ".shstrtab",
        ".ARM.attributes",
        ".riscv.attributes",
    }
)
_NOTE = ".note."


def unknown_sections(shipped: Path) -> tuple[tuple[str, int], ...]:
    """List name and bytes of an ELF file's unknown sections; Mach-O loads all of its sections."""
    if image_format(shipped) != ELF:
        return ()
    return tuple(
        sorted(
            (section.name, section.file_size)
            for section in read_elf(shipped).sections
            if section.file_size
            and not section.is_allocated
            and section.name not in _KNOWN
            and not section.name.startswith(_NOTE)
        )
    )
