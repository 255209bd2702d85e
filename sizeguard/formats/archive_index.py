"""Turns an ar archive into the members that define a symbol, each read when asked for."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.errors import InputError
from sizeguard.formats.elf import read_bytes

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Member:
    """A member: its name, and its bytes at [start, end) of the archive. header: where its header starts, which the index names."""

    name: str
    header: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """Members in order. index: pairs of a symbol and the header of the member that defines it, in its order; None if there is none."""

    path: Path
    data: Bytes
    members: tuple[Member, ...]
    index: tuple[tuple[bytes, int], ...] | None

    def content(self, member: Member) -> Bytes:
        return self.data[member.start : member.end]


def open_archive(path: Path) -> Archive:
    """Read the headers and the index. Raises InputError for what is no archive or points outside of itself."""
    data = read_bytes(path)
    if data[:8].tobytes() != b"!<arch>\n":
        raise InputError(f"{path}: not an archive")
    buffer = data.data
    members: list[Member] = []
    index: tuple[tuple[bytes, int], ...] | None = None
    long_names = b""
    position = 8
    while position + 60 <= len(data):
        header = bytes(buffer[position : position + 60])
        length = header[48:58].strip()
        start = position + 60
        if header[58:60] != b"`\n" or not length.isdigit():
            raise InputError(f"{path}: a damaged archive: no member at {position}")
        end = start + int(length)
        if end > len(data):
            raise InputError(f"{path}: a damaged archive: the member at {position} is cut")
        raw = header[:16].rstrip()
        if raw == b"//":
            long_names = bytes(buffer[start:end])
        elif raw in (b"/", b"/SYM64/"):
            index = _index(path, bytes(buffer[start:end]), 4 if raw == b"/" else 8)
        else:
            members.append(Member(_name(raw, long_names), position, start, end))
        position = end + end % 2
    headers = {member.header for member in members}
    if index is not None and any(where not in headers for _, where in index):
        raise InputError(f"{path}: a damaged archive: its index names places where no member is")
    return Archive(path, data, tuple(members), index)


def _index(path: Path, content: bytes, width: int) -> tuple[tuple[bytes, int], ...]:
    """A count, as many places of members, then as many names, each ended by NUL. Big endian."""
    letter = "I" if width == 4 else "Q"
    count = int.from_bytes(content[:width], "big")
    if (count + 1) * width > len(content):
        raise InputError(f"{path}: a damaged archive: an index of {count} symbols in {len(content)} bytes")
    places = struct.unpack_from(f">{count}{letter}", content, width)
    names = content[(count + 1) * width :].split(b"\0", count)
    if len(names) < count:
        raise InputError(f"{path}: a damaged archive: an index of {count} symbols with {len(names)} names")
    return tuple(zip(names[:count], places, strict=True))


def _name(raw: bytes, long_names: bytes) -> str:
    if raw[:1] == b"/" and raw[1:].isdigit():
        offset = int(raw[1:])
        raw = long_names[offset : long_names.find(b"\n", offset)]
    return raw.rstrip(b"/").decode("utf-8", "backslashreplace")
