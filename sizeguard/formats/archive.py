"""Turns an ar archive into its members."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sizeguard.errors import InputError

MAGIC = b"!<arch>\n"


def read_archive(path: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of each member in order, the symbol index left out. Raises InputError for what is no archive."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    if data[:8] != MAGIC:
        raise InputError(f"{path}: not an archive")
    long_names = b""
    position = 8
    while position + 60 <= len(data):
        header = data[position : position + 60]
        length = header[48:58].strip()
        if header[58:60] != b"`\n" or not length.isdigit():
            raise InputError(f"{path}: a damaged archive: no member at {position}")
        start, end = position + 60, position + 60 + int(length)
        if end > len(data):
            raise InputError(f"{path}: a damaged archive: the member at {position} is cut")
        raw = header[:16].rstrip()
        if raw == b"//":
            long_names = data[start:end]
        elif raw not in (b"/", b"/SYM64/"):
            yield _name(raw, long_names), data[start:end]
        position = end + end % 2


def _name(raw: bytes, long_names: bytes) -> str:
    if raw[:1] == b"/" and raw[1:].isdigit():
        offset = int(raw[1:])
        raw = long_names[offset : long_names.find(b"\n", offset)]
    return raw.rstrip(b"/").decode("utf-8", "replace")
