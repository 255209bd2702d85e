"""Find symbols and debug information that stripping removes."""

from __future__ import annotations

import itertools

from sizeguard.doctor.diagnosis import FILE, SizeFinding, largest
from sizeguard.doctor.image_facts import ImageFacts
from sizeguard.formats.elf import SHT_NOBITS, SHT_NULL, SHT_STRTAB, SHT_SYMTAB, Elf, Section
from sizeguard.formats.elf.layout import SHT_REL, SHT_RELA, SHT_SYMTAB_SHNDX

_DEBUG = (".debug", ".zdebug", ".stab", ".gdb_index", ".line", ".gnu.debuglto_")
_SLACK = 16  # bytes by which tools differ: alignment, shared suffixes of names


def unstripped(facts: ImageFacts) -> SizeFinding | None:
    """Find sections that `strip` removes."""
    elf = facts.elf
    gone = [section for section in elf.sections if _goes(elf, section)]
    won = elf.size - _stripped_size(elf, gone)
    if not gone or won <= _SLACK:
        return None
    # LLVM's strip removes everything that is not loaded; GNU's keeps the compilers' names
    # (.comment).
    more = [s for s in elf.sections if not s.is_allocated and s.name != ".shstrtab" and s.type]
    most = elf.size - _stripped_size(elf, more)
    change = facts.change(lambda toolchain: toolchain.strip)
    return SizeFinding(
        kind="unstripped",
        title="the file contains symbols and debug information",
        low=won - _SLACK,
        high=most + _SLACK,
        metric=FILE,
        evidence=largest({section.name: section.file_size for section in gone}),
        parts=len(gone),
        change=f"strip the image that ships, and keep the unstripped one: {change}",
    )


def _goes(elf: Elf, section: Section) -> bool:
    """Return whether stripping removes a section."""
    if section.is_allocated or section.type == SHT_NULL:
        return False
    if section.type in (SHT_SYMTAB, SHT_SYMTAB_SHNDX, SHT_REL, SHT_RELA):
        return True
    is_names = section.type == SHT_STRTAB and any(
        other.type == SHT_SYMTAB and other.link == section.index for other in elf.sections
    )
    return is_names or section.name.startswith(_DEBUG)


def _stripped_size(elf: Elf, gone: list[Section]) -> int:
    """Compute the file's size without some sections, their names and their headers."""
    kept = [section for section in elf.sections if section not in gone]
    end = max(
        (s.offset + s.file_size for s in kept if s.is_allocated and s.type != SHT_NOBITS),
        default=elf.header[1],
    )
    end = max(end, sum(elf.program_headers))
    for section in kept:
        if section.is_allocated or section.type == SHT_NULL or section.name == ".shstrtab":
            continue
        end = _aligned(end, section.alignment) + section.file_size
    names = sorted({section.name[::-1] for section in kept if section.name})
    shared = {a for a, b in itertools.pairwise(names) if b.startswith(a)}
    end += 1 + sum(len(name.encode()) + 1 for name in names if name not in shared)
    width = elf.layout.section.itemsize
    return _aligned(end, elf.layout.word_size) + width * len(kept)


def _aligned(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment if alignment > 1 else value
