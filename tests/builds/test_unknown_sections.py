"""Sections of a shipped file that are neither loaded nor known."""

from __future__ import annotations

import struct
from pathlib import Path

from sizeguard.builds.unknown_sections import unknown_sections

ALLOC, PROGBITS, STRTAB, NOBITS = 2, 1, 3, 8


def image(path: Path, *sections: tuple[str, int, int, int]) -> Path:
    """Write an ELF file of sections: name, type, flags and size."""
    all_sections = [*sections, (".shstrtab", STRTAB, 0, 0)]
    names = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in all_sections)
    table, contents = [struct.pack("<IIQQQQIIQQ", *([0] * 10))], b""
    for name, kind, flags, size in all_sections:
        data = names if name == ".shstrtab" else b"x" * size
        offset = names.index(b"\0" + name.encode() + b"\0") + 1
        size = len(data)
        at = 64 + len(contents)
        table.append(struct.pack("<IIQQQQIIQQ", offset, kind, flags, 0, at, size, 0, 0, 1, 0))
        contents += b"" if kind == NOBITS else data
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack(
        "<HHIQQQIHHHHHH", 2, 62, 1, 0, 0, 64 + len(contents), 0, 64, 56, 0, 64, len(table),
        len(table) - 1,
    )  # fmt: skip
    path.write_bytes(header + contents + b"".join(table))
    return path


def test_what_is_neither_loaded_nor_known(tmp_path: Path) -> None:
    found = unknown_sections(
        image(
            tmp_path / "app",
            (".text", PROGBITS, ALLOC, 40),
            (".payload", PROGBITS, 0, 300),
            (".comment", PROGBITS, 0, 20),
            (".note.gnu.gold-version", 7, 0, 28),
            (".gnu_debuglink", PROGBITS, 0, 16),
            (".empty", PROGBITS, 0, 0),
            (".zeros", NOBITS, 0, 50),
            (".debug_info", PROGBITS, 0, 60),
            (".notes", PROGBITS, 0, 8),
        )
    )
    assert found == (
        (".debug_info", 60),
        (".notes", 8),
        (".payload", 300),
    )
