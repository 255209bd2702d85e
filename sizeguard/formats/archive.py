"""Turns an ar archive, of GNU's or BSD's kind or thin, into its members and the symbols that its index says they define."""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.errors import InputError

MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"

HEADER_SIZE = 60
# /OFFSET in the long names, in thin archives also /OFFSET:POSITION in the archive of that name. GNU ar 2.40 leaves the
# slash of a name of 15 characters standing behind.
_LONG = re.compile(rb"/(\d+)(?::(\d+))?(?: +/)?")

DEEPEST = 8  # thin archives that name archives that name archives
_GNU_INDEXES = {b"/": 4, b"/SYM64/": 8}  # bytes of a number in them
_INDEXES = frozenset({*_GNU_INDEXES, b"__.SYMDEF", b"__.SYMDEF SORTED", b"__.SYMDEF_64", b"__.SYMDEF_64 SORTED"})


@dataclass(frozen=True, slots=True)
class Member:
    """A member. Its content is file[offset : offset + size]: of the archive, or of a file that a thin archive names.

    position: of its header in the archive, which tells members of one name apart.
    """

    name: str
    position: int
    file: Path
    offset: int
    size: int


@dataclass(frozen=True, eq=False)
class Archive:
    """An archive whose members are read when asked for.

    index: pairs of a symbol and the position of the member that defines it, in GNU's index' order; None without one
    """

    path: Path
    members: tuple[Member, ...]
    index: tuple[tuple[bytes, int], ...] | None

    @cached_property
    def _mapped(self) -> dict[Path, npt.NDArray[np.uint8]]:
        return {}

    def content(self, member: Member) -> npt.NDArray[np.uint8]:
        """A member's bytes, without a copy."""
        if member.file not in self._mapped:
            self._mapped[member.file] = np.frombuffer(_map(member.file), np.uint8)
        data = self._mapped[member.file]
        if member.offset + member.size > len(data):
            raise InputError(f"{self.path}: {member.file} is shorter than the archive says: {len(data)} bytes, not {member.size}")
        return data[member.offset : member.offset + member.size]


def open_archive(path: Path) -> Archive:
    """Read the headers and the index. Raises InputError for what is no archive, damaged, or has an index of members that are not there."""
    found = members(path)
    index = _index(path, _map(path))
    positions = {member.position for member in found}
    if index is not None and any(where not in positions for _, where in index):
        raise InputError(f"{path}: a damaged archive: its index names places where no member is")
    return Archive(path, found, index)


def members(path: Path) -> tuple[Member, ...]:
    """The members in order, symbol indexes left out; members of archives in a thin archive stand in its place.

    Raises InputError for what is no archive, or damaged.
    """
    return tuple(_members(path, 0))


def read_archive(path: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of each member in order. Raises InputError, also for a file that a thin archive names and that is missing."""
    archive = Archive(path, members(path), None)
    for member in archive.members:
        yield member.name, archive.content(member).tobytes()


def _members(path: Path, depth: int) -> Iterator[Member]:
    data = _map(path)
    if data[:8] not in (MAGIC, THIN_MAGIC):
        raise InputError(f"{path}: not an archive")
    if depth > DEEPEST:
        raise InputError(f"{path}: thin archives name each other more than {DEEPEST} deep")
    is_thin = data[:8] == THIN_MAGIC
    nested: dict[Path, dict[int, Member]] = {}
    long_names = b""
    position = 8
    while position < len(data):
        header = data[position : position + HEADER_SIZE]
        length = header[48:58].strip()
        if header[58:60] != b"`\n" or not length.isdigit():
            if position == len(data) - 1 and header == b"\n":
                return
            raise InputError(f"{path}: a damaged archive: no member at {position}")
        start, size = position + HEADER_SIZE, int(length)
        raw = header[:16].rstrip()
        is_table = raw in (b"//", b"ARFILENAMES/")
        is_index = raw in _INDEXES
        is_inside = not is_thin or is_table or is_index
        end = start + size if is_inside else start
        if end > len(data):
            raise InputError(f"{path}: a damaged archive: the member at {position} is cut")
        if is_table:
            long_names = data[start:end]
        elif not is_index:
            name, origin, taken = _name(path, position, raw, long_names, data[start : start + 4096] if raw[:3] == b"#1/" else b"")
            if taken > size:
                raise InputError(f"{path}: a damaged archive: the name of the member at {position} is longer than the member")
            if is_inside:
                if name.encode() not in _INDEXES:
                    yield Member(name, position, path, start + taken, size - taken)
            elif origin is None:
                yield Member(name, position, path.parent / name, 0, size)
            else:
                inner = path.parent / name
                if inner not in nested:
                    nested[inner] = {member.position: member for member in _members(inner, depth + 1)}
                if origin not in nested[inner]:
                    raise InputError(f"{path}: a damaged archive: {inner} has no member at {origin}")
                found = nested[inner][origin]
                yield Member(found.name, position, found.file, found.offset, found.size)
        position = end + end % 2


def _name(path: Path, position: int, raw: bytes, long_names: bytes, content: bytes) -> tuple[str, int | None, int]:
    """A member's name, the place in the nested archive that a thin one names, and how much of the member the name takes."""
    origin: int | None = None
    taken = 0
    if raw[:3] == b"#1/" and raw[3:].isdigit():
        taken = int(raw[3:])
        raw = content[:taken].rstrip(b"\0")
    elif raw[:1] == b"/" and len(raw) > 1:
        place = _LONG.fullmatch(raw)
        if place is None or int(place[1]) >= len(long_names):
            raise InputError(f"{path}: a damaged archive: the member at {position} has no name")
        origin = int(place[2]) if place[2] else None
        offset = int(place[1])
        end = long_names.find(b"\n", offset)
        raw = long_names[offset : end if end >= 0 else len(long_names)].rstrip(b"\0").removesuffix(b"/")
    else:
        raw = raw.removesuffix(b"/")
    if not raw or b"\0" in raw:
        raise InputError(f"{path}: a damaged archive: the member at {position} has no name")
    return raw.decode("utf-8", "backslashreplace"), origin, taken


def _index(path: Path, data: bytes | mmap.mmap) -> tuple[tuple[bytes, int], ...] | None:
    """The first member, if it is GNU's index: a count, as many places of members, as many names, each ended by NUL. Big endian."""
    width = _GNU_INDEXES.get(data[8:24].rstrip(), 0)
    if not width:
        return None
    start = 8 + HEADER_SIZE
    content = data[start : start + int(data[start - 12 : start - 2])]
    count = int.from_bytes(content[:width], "big")
    if (count + 1) * width > len(content):
        raise InputError(f"{path}: a damaged archive: an index of {count} symbols in {len(content)} bytes")
    places = struct.unpack_from(f">{count}{'I' if width == 4 else 'Q'}", content, width)
    names = content[(count + 1) * width :].split(b"\0", count)
    if len(names) < count:
        raise InputError(f"{path}: a damaged archive: an index of {count} symbols with {len(names)} names")
    return tuple(zip(names[:count], places, strict=True))


def _map(path: Path) -> bytes | mmap.mmap:
    """The file's bytes, without reading them all: archives of static libraries reach gigabytes."""
    try:
        with path.open("rb") as file:
            if file.seek(0, 2) == 0:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    except ValueError as error:  # a path with a NUL in it
        raise InputError(f"{path}: cannot read: {error}") from error
