"""Read ar archives (GNU, BSD or thin): their members and their symbol index."""

from __future__ import annotations

import contextlib
import mmap
import re
import struct
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import read_input, readable
from sizeguard.formats.magics import ARCHIVE_MAGIC, BITCODE_MAGICS, THIN_MAGIC

LINKED_SUFFIXES = (".o", ".obj", ".a")  # of objects and archives in a folder
HEADER_SIZE = 60
# /OFFSET into the long names; in thin archives also /OFFSET:POSITION in the archive of that name.
# GNU ar 2.40 keeps the slash after a name of 15 characters.
_LONG = re.compile(rb"/(\d+)(?::(\d+))?(?: +/)?")

_END_OF_NAME = re.compile(rb"[\n\0]")  # in the long names; the NUL is in archives for Windows
_NAME_TABLES = frozenset({b"//", b"ARFILENAMES/"})
DEEPEST = 8  # nesting of thin archives
_GNU_INDEXES = {b"/": 4, b"/SYM64/": 8}  # bytes of a number in the index
_INDEXES = frozenset(
    {*_GNU_INDEXES, b"__.SYMDEF", b"__.SYMDEF SORTED", b"__.SYMDEF_64", b"__.SYMDEF_64 SORTED"}
)
_OF_WINDOWS = b"/<"  # before the name of a table such as /<ECSYMBOLS>/


@dataclass(frozen=True, slots=True)
class Member:
    """A member; its content is file[offset : offset + size].

    file is the archive, or a file that a thin archive names. position is the offset of its header
    in the archive, which distinguishes members with the same name.
    """

    name: str
    position: int
    file: Path
    offset: int
    size: int


@dataclass(frozen=True, eq=False)
class Archive:
    """An archive; members are read on request.

    index: pairs of a symbol and the position of the member that defines it, in the order of GNU's
    index; None without an index.
    """

    path: Path
    members: tuple[Member, ...]
    index: tuple[tuple[bytes, int], ...] | None

    @cached_property
    def _mapped(self) -> dict[Path, npt.NDArray[np.uint8]]:
        """Files mapped so far, by path."""
        return {}

    def content(self, member: Member) -> npt.NDArray[np.uint8]:
        """Return a member's bytes, without a copy.

        Raises InputError if the file is shorter than the archive states.
        """
        if member.file not in self._mapped:
            self._mapped[member.file] = np.frombuffer(map_file(member.file), np.uint8)
        data = self._mapped[member.file]
        if member.offset + member.size > len(data):
            raise InputError(
                f"{self.path}: {member.file} is shorter than the archive states: {len(data)} bytes,"
                f" not {member.size}"
            )
        return data[member.offset : member.offset + member.size]


def open_archive(path: Path) -> Archive:
    """Read the headers and the index.

    Raises InputError for a file that is not an archive, is damaged, or has an index of missing
    members.
    """
    found = members(path)
    index = _index(path, map_file(path))
    positions = {member.position for member in found}
    if index is not None and any(where not in positions for _, where in index):
        raise InputError(f"{path}: a damaged archive: its index names offsets without a member")
    return Archive(path, found, index)


def members(path: Path) -> tuple[Member, ...]:
    """Return the members in order, without symbol indexes.

    A nested thin archive is replaced by its members.

    Raises InputError for a file that is not an archive or is damaged.
    """
    return tuple(_members(path, 0))


def read_archive(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each member, in order.

    Raises InputError, also for a missing file that a thin archive names.
    """
    archive = Archive(path, members(path), None)
    for member in archive.members:
        yield member.name, archive.content(member).tobytes()


def member_starts(archive: bytes | mmap.mmap, count: int) -> Iterator[bytes]:
    """Yield the first bytes of each member of an archive, up to the first damage."""
    with contextlib.suppress(InputError):
        for header in _headers(Path(), archive):
            start = header.position + HEADER_SIZE
            name = header.raw_name[3:] if header.raw_name[:3] == b"#1/" else b""
            start += int(name) if name.isdigit() else 0
            yield archive[start : start + count]


def _members(path: Path, depth: int) -> Iterator[Member]:
    """Yield the members of an archive that is nested `depth` thin archives deep."""
    data = map_file(path)
    if data[:8] not in (ARCHIVE_MAGIC, THIN_MAGIC):
        raise InputError(f"{path}: not an archive")
    if depth > DEEPEST:
        raise InputError(f"{path}: thin archives are nested more than {DEEPEST} deep")
    nested: dict[Path, dict[int, Member]] = {}
    long_names = b""
    for header in _headers(path, data):
        position, start = header.position, header.position + HEADER_SIZE
        if header.raw_name in _NAME_TABLES:
            long_names = data[start : header.end]
        if header.raw_name in _NAME_TABLES or _is_index(header.raw_name):
            continue
        begin = data[start : start + 4096] if header.raw_name[:3] == b"#1/" else b""
        name, origin, taken = _name(path, position, header.raw_name, long_names, begin)
        if taken > header.size:
            raise InputError(
                f"{path}: a damaged archive: the name of the member at {position} is longer"
                " than the member"
            )
        if header.is_inside:
            if name.encode() not in _INDEXES:
                yield Member(name, position, path, start + taken, header.size - taken)
        elif origin is None:
            yield Member(name, position, path.parent / name, 0, header.size)
        else:
            inner = path.parent / name
            if inner not in nested:
                nested[inner] = {member.position: member for member in _members(inner, depth + 1)}
            if origin not in nested[inner]:
                raise InputError(f"{path}: a damaged archive: {inner} has no member at {origin}")
            found = nested[inner][origin]
            yield Member(found.name, position, found.file, found.offset, found.size)


@dataclass(frozen=True, slots=True)
class _Header:
    """The header at `position`: the unresolved name, and the size that it states.

    is_inside: whether the content follows; in a thin archive it is in another file.
    """

    position: int
    raw_name: bytes
    size: int
    is_inside: bool

    @property
    def end(self) -> int:
        """End offset of the content in the archive."""
        return self.position + HEADER_SIZE + (self.size if self.is_inside else 0)


def _is_index(name: bytes) -> bool:
    """Return whether a member is an index of symbols, which linkers read."""
    return name in _INDEXES or name[:2] == _OF_WINDOWS


def _headers(path: Path, data: bytes | mmap.mmap) -> Iterator[_Header]:
    """Yield all headers, in order. Raises InputError for damaged ones."""
    is_thin = data[:8] == THIN_MAGIC
    position = 8
    while position < len(data):
        header = data[position : position + HEADER_SIZE]
        length = header[48:58].strip()
        if header[58:60] != b"`\n" or not length.isdigit():
            if position == len(data) - 1 and header == b"\n":
                return
            raise InputError(f"{path}: a damaged archive: no member at {position}")
        raw = header[:16].rstrip()
        is_inside = not is_thin or raw in _NAME_TABLES or _is_index(raw)
        found = _Header(position, raw, int(length), is_inside)
        if found.end > len(data):
            raise InputError(f"{path}: a damaged archive: the member at {position} is cut")
        yield found
        position = found.end + found.end % 2


class _MemberName(NamedTuple):
    """A member's name.

    origin: its position in a nested archive, for thin ones
    taken:  bytes of the content that the name takes
    """

    text: str
    origin: int | None
    taken: int


def _name(path: Path, position: int, raw: bytes, long_names: bytes, content: bytes) -> _MemberName:
    """Read a member's name from the header field, the long names, or the beginning of the content.

    Raises InputError if it has none.
    """
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
        end = _END_OF_NAME.search(long_names, offset)
        raw = long_names[offset : end.start() if end else len(long_names)].removesuffix(b"/")
    else:
        raw = raw.removesuffix(b"/")
    if not raw or b"\0" in raw:
        raise InputError(f"{path}: a damaged archive: the member at {position} has no name")
    return _MemberName(raw.decode("utf-8", "backslashreplace"), origin, taken)


def _index(path: Path, data: bytes | mmap.mmap) -> tuple[tuple[bytes, int], ...] | None:
    """Read the first member if it is GNU's index.

    The index has a count, then the positions of that many members, then as many names, each with a
    NUL; big endian.
    """
    width = _GNU_INDEXES.get(data[8:24].rstrip(), 0)
    if not width:
        return None
    start = 8 + HEADER_SIZE
    content = data[start : start + int(data[start - 12 : start - 2])]
    count = int.from_bytes(content[:width], "big")
    if (count + 1) * width > len(content):
        raise InputError(
            f"{path}: a damaged archive: an index of {count} symbols in {len(content)} bytes"
        )
    places = struct.unpack_from(f">{count}{'I' if width == 4 else 'Q'}", content, width)
    names = content[(count + 1) * width :].split(b"\0", count)
    if len(names) < count:
        raise InputError(
            f"{path}: a damaged archive: an index of {count} symbols with {len(names)} names"
        )
    return tuple(zip(names[:count], places, strict=True))


def map_file(path: Path) -> bytes | mmap.mmap:
    """Map a file, since archives of static libraries can have gigabytes."""
    try:
        with readable(path).open("rb") as file:
            if file.seek(0, 2) == 0:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise cannot_read(path, error) from error
    except ValueError as error:  # a path that contains a NUL
        raise cannot_read(path, error) from error


class ObjectContent(NamedTuple):
    """The bytes of an object. path: the file; member: its name in an archive, or empty."""

    path: Path
    label: str
    member: str
    data: bytes


def _expanded(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(
                p for p in path.rglob("*") if p.suffix in LINKED_SUFFIXES and p.is_file()
            )
        else:
            yield path


def contents(
    paths: Iterable[Path], folder: Path | None, magics: tuple[bytes, ...]
) -> Iterator[ObjectContent]:
    """Yield the bytes of each object; folders are searched.

    magics: first bytes of objects; those of LLVM bitcode are accepted, too
    """
    for path in _expanded(paths):
        shown = (
            path.relative_to(folder).as_posix()
            if folder and path.is_relative_to(folder)
            else str(path)
        )
        head = read_input(path, 8)
        if head in (ARCHIVE_MAGIC, THIN_MAGIC):
            for member, data in read_archive(path):
                yield ObjectContent(path, f"{shown}({member})", member, bytes(data))
        elif head[:4] in (*magics, *BITCODE_MAGICS):
            yield ObjectContent(path, shown, "", readable(path).read_bytes())
        else:
            raise InputError(f"{path}: neither an object nor an archive")
