"""A file as named parts with named ranges in them, as PE and WebAssembly readers return it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import pairwise
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Bytes
from sizeguard.formats.link_kind import LIBRARY, OBJECT, PROGRAM
from sizeguard.formats.magics import PE

_AND_MORE = b" and what follows"
# Place of the offset of a PE image's header, distance of the flags behind it, and a DLL's flag
_PE_OFFSET, _CHARACTERISTICS, _DLL = 0x3C, 22, 0x2000


@dataclass(frozen=True, slots=True)
class FilePart:
    """A section, or bytes outside sections: [offset, offset + size) of the file.

    memory:    bytes in memory; bytes beyond `size` are zeros
    load:      bytes of the file that are loaded, from the beginning of the part
    address:   in memory
    """

    name: str
    segment: str
    kind: str
    offset: int
    size: int
    address: int = 0
    memory: int = 0
    load: int = 0
    is_writable: bool = False

    @property
    def room(self) -> int:
        """Bytes available for its ranges."""
        return max(self.size, self.memory)


@dataclass(frozen=True, slots=True)
class NamedPart:
    """Bytes [start, end) of a part, relative to its beginning, with their names, best first.

    without: name for bytes without a name
    source:  the analyzer that found them
    """

    part: int
    start: int
    end: int
    names: tuple[bytes, ...]
    source: str
    kind: str = ""
    without: bytes = b""


@dataclass(frozen=True, slots=True)
class SectionedImage:
    """An image or object.

    parts:  in the file's order; they overlap only in damaged files
    ranges: of each part in order, without overlaps
    needed: libraries that the loader also loads, sorted; None if not known
    """

    path: Path
    format: str
    arch: str
    id: str
    size: int
    parts: tuple[FilePart, ...]
    ranges: tuple[NamedPart, ...]
    needed: tuple[str, ...] | None
    is_object: bool
    data: Bytes = field(repr=False)

    @property
    def kind(self) -> str:
        """The kind of file, as in link_kind; empty for a linked WebAssembly module."""
        if self.is_object:
            return OBJECT
        if self.format != PE:
            return ""
        at = int.from_bytes(self.data[_PE_OFFSET : _PE_OFFSET + 4].tobytes(), "little")
        at += _CHARACTERISTICS
        flags = int.from_bytes(self.data[at : at + 2].tobytes(), "little")
        return LIBRARY if flags & _DLL else PROGRAM

    @property
    def load(self) -> int:
        """Bytes of the file that are loaded."""
        return sum(part.load for part in self.parts)

    @property
    def slack(self) -> int:
        """Bytes of loaded parts that are in the file but not in memory."""
        return sum(part.size - part.load for part in self.parts if part.load)

    @property
    def ram(self) -> int:
        """Bytes of writable memory."""
        return sum(part.memory for part in self.parts if part.is_writable)


@dataclass(frozen=True, slots=True)
class Start:
    """A name for the bytes of a part from an offset.

    is_open: whether only a function shows where the named bytes end, as for exports of an
    image without symbols
    """

    offset: int
    name: bytes
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class CodeExtent:
    """Bytes [start, end) of a part that belong to one function, according to unwind information."""

    start: int
    end: int


def ranges_of(
    part: int,
    room: int,
    starts: Iterable[Start],
    functions: Sequence[CodeExtent],
    address: int,
    stops: Iterable[int] = (),
) -> list[NamedPart]:
    """Cut a part at names and functions.

    A name extends to the next name or stop, or to the end of the function that contains it.
    Functions without a name are called by their address. Bytes from an open name on are called
    after it, since other things may follow what it names.
    """
    names, closed = _names(room, starts)
    ends = _disjoint(functions, room)
    bounds = {stop for stop in stops if 0 <= stop < room}
    edges = sorted({*names, *ends, *ends.values(), *bounds, room})
    rows: list[NamedPart] = []
    stop = 0
    known: tuple[bytes, ...] = ()
    is_open = False
    for low, high in pairwise(edges):
        if low in ends:
            stop, known = ends[low], ()
        elif stop and low >= stop:
            stop, known = 0, ()
        elif not stop and low in bounds:
            known = ()
        if low in names:
            known, is_open = tuple(names[low]), low not in closed
        if known and is_open and not stop:
            rows.append(NamedPart(part, low, high, (), "function starts", "", known[0] + _AND_MORE))
        elif known:
            rows.append(NamedPart(part, low, high, known, "symbol table"))
        elif stop:
            nameless = f"function at {address + low:#x}".encode()
            rows.append(NamedPart(part, low, high, (), "function starts", "code", nameless))
    return rows


def _names(room: int, starts: Iterable[Start]) -> tuple[dict[int, list[bytes]], set[int]]:
    """Return the names at each offset, and the offsets of names that are not open."""
    names: dict[int, list[bytes]] = {}
    closed = set()
    for start in starts:
        if 0 <= start.offset < room and start.name:
            found = names.setdefault(start.offset, [])
            if start.name not in found:
                found.append(start.name)
            if not start.is_open:
                closed.add(start.offset)
    return names, closed


def _disjoint(functions: Sequence[CodeExtent], room: int) -> dict[int, int]:
    """Return the end of each function by its start; a function ends where the next begins."""
    starts = sorted({f.start: f for f in functions if 0 <= f.start < room}.items())
    ends: dict[int, int] = {}
    for i, (start, function) in enumerate(starts):
        following = starts[i + 1][0] if i + 1 < len(starts) else room
        end = min(function.end, following, room)
        if end > start:
            ends[start] = end
    return ends
