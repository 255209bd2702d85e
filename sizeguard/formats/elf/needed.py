"""Names that the loader reads from an ELF image: libraries, search paths, interpreter."""

from __future__ import annotations

from sizeguard.formats.elf.image import Elf
from sizeguard.formats.elf.layout import (
    DT_FLAGS_1,
    DT_SONAME,
    DT_STRSZ,
    DT_STRTAB,
    PT_DYNAMIC,
    PT_INTERP,
    PT_LOAD,
)

_DF_1_PIE = 0x08000000
# Tags of libraries that are loaded with the image: NEEDED, and those that replace or watch others.
_LIBRARIES = frozenset({1, 0x7FFFFFFD, 0x7FFFFFFF, 0x6FFFFEFB, 0x6FFFFEFC})
_PATHS = frozenset({15, 29})  # RPATH, RUNPATH
INTERPRETER, SEARCH_PATH = "interpreter ", "search path "


def needed_libraries(elf: Elf) -> tuple[str, ...]:
    """List the libraries, search paths and interpreter of an image, sorted.

    They are read from the segments, as the loader reads them; section headers may be missing.
    """
    found = {
        INTERPRETER + _text(elf.data[s.offset : s.offset + s.file_size].tobytes(), 0)
        for s in elf.segments
        if s.type == PT_INTERP and s.file_size
    }
    pairs = _dynamic(elf)
    names = _strings(elf, dict(pairs))
    for tag, value in pairs:
        if tag in _LIBRARIES:
            found.add(_text(names, value))
        elif tag in _PATHS:
            found.add(SEARCH_PATH + _text(names, value))
    return tuple(sorted(found))


def library_name(elf: Elf) -> str:
    """Return the name by which images need a library (DT_SONAME); empty if it has none."""
    pairs = dict(_dynamic(elf))
    return _text(_strings(elf, pairs), pairs[DT_SONAME]) if DT_SONAME in pairs else ""


def is_marked_as_program(elf: Elf) -> bool:
    """Return whether the linker marked a position-independent file as a program."""
    return bool(dict(_dynamic(elf)).get(DT_FLAGS_1, 0) & _DF_1_PIE)


def _dynamic(elf: Elf) -> list[tuple[int, int]]:
    """Return tags and values up to DT_NULL."""
    width = 2 * elf.layout.word_size
    table = next((s for s in elf.segments if s.type == PT_DYNAMIC and s.file_size), None)
    if table is None:
        return []
    end = table.offset + table.file_size // width * width
    words = elf.data[table.offset : end].view(elf.layout.word).tolist()
    pairs = list(zip(words[::2], words[1::2], strict=True))
    last = next((i for i, (tag, _) in enumerate(pairs) if tag == 0), len(pairs))
    return pairs[:last]


def _strings(elf: Elf, tags: dict[int, int]) -> bytes:
    address = tags.get(DT_STRTAB, 0)
    for load in elf.segments:
        inside = address - load.address
        if load.type == PT_LOAD and 0 <= inside < load.file_size:
            size = min(tags.get(DT_STRSZ, 0), load.file_size - inside)
            return elf.data[load.offset + inside : load.offset + inside + size].tobytes()
    return b""


def _text(table: bytes, offset: int) -> str:
    end = table.find(b"\0", offset)
    return table[offset : end if end >= 0 else len(table)].decode("utf-8", "backslashreplace")
