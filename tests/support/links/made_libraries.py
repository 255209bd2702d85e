"""Shared libraries without section headers, with dynamic entries."""

from __future__ import annotations

import struct
from pathlib import Path

LOADS, DYNAMIC, INTERP = 1, 2, 3
NEEDED, STRTAB, STRSZ, RPATH, RUNPATH, AUXILIARY, AUDIT = 1, 5, 10, 15, 29, 0x7FFFFFFD, 0x6FFFFEFC


def image(path: Path, *entries: tuple[int, str], interpreter: str = "") -> Path:
    """Write a shared library that has no section headers, with these dynamic entries."""
    names = b"\0" + b"".join(text.encode() + b"\0" for _, text in entries)
    at = 64 + 3 * 56
    inside = names + interpreter.encode() + b"\0"
    table = at + len(inside)
    rows = [(tag, names.index(b"\0" + text.encode() + b"\0") + 1) for tag, text in entries]
    rows += [(STRTAB, 0x1000 + at), (STRSZ, len(names)), (0, 0), (NEEDED, 1)]  # ends at (0, 0)
    dynamic = b"".join(struct.pack("<QQ", *row) for row in rows)
    end = table + len(dynamic)
    segments = [
        (LOADS, 6, 0, 0x1000, 0x1000, end, end, 0x1000),
        (DYNAMIC, 6, table, 0x1000 + table, 0x1000 + table, len(dynamic), len(dynamic), 8),
        (INTERP if interpreter else 0, 4, at + len(names), 0, 0, len(interpreter) + 1, 0, 1),
    ]
    packed = b"".join(struct.pack("<IIQQQQQQ", *each) for each in segments)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 64, 0, 0)
    path.write_bytes(header + packed + inside + dynamic)
    return path
