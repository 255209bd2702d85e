"""Read the pointers that dyld writes, from chained fix-ups or from rebase and bind opcodes."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sizeguard.base.errors import InputError
from sizeguard.columns.sort import packed_order
from sizeguard.columns.texts import Int
from sizeguard.formats.macho.image import MachO, Segment
from sizeguard.formats.macho.uleb import UlebReader

PTR_ARM64E, PTR_64, PTR_32, PTR_64_OFFSET = 1, 2, 3, 6
PTR_ARM64E_USERLAND, PTR_ARM64E_USERLAND24 = 9, 12
_MOST_NAME_BYTES = 64  # bytes of names for each byte of their table, since names may share suffixes
PAGE_NONE, PAGE_MULTI = 0xFFFF, 0x8000
_NOTHING = np.zeros(0, np.int64)
_ARM64E = (PTR_ARM64E, PTR_ARM64E_USERLAND, PTR_ARM64E_USERLAND24)


class _Run(NamedTuple):
    """Pointers at equal distances. address, offset: of the first; step: the distance."""

    address: int
    offset: int
    pointers: int
    step: int


class _BoundRun(NamedTuple):
    """Pointers at equal distances to one import."""

    run: _Run
    symbol: int
    addend: int


class _Pointers(NamedTuple):
    """Columns of Fixups."""

    address: Int
    symbol: Int
    target: Int


class _Decoded(NamedTuple):
    """Pointers of chains: import or -1, target or addend, bytes to the next pointer."""

    symbol: Int
    target: Int
    step: Int


class _Spread(NamedTuple):
    """The pointers of runs: address, offset in the file, number of the run."""

    address: Int
    offset: Int
    run: Int


@dataclass(frozen=True, slots=True)
class Fixups:
    """Pointers that dyld writes, as parallel columns, in file order.

    address: address of the pointer
    symbol:  index into imports, -1 for a pointer into the image itself
    target:  the address that it points to; for an import, the addend
    imports: names
    """

    address: Int
    symbol: Int
    target: Int
    imports: tuple[str, ...]


def fixups(image: MachO) -> Fixups:
    """Read the fix-ups; an image has only one of the two kinds.

    Raises InputError for damaged ones.
    """
    imports: list[str] = []
    columns: list[_Pointers] = []
    try:
        if image.extent("chained fixups") is not None:
            columns += _Chains(image, imports).columns()
        columns.append(_rebased(image, list(_rebases(image))))
        for name in ("bind opcodes", "weak bind opcodes", "lazy bind opcodes"):
            columns.append(_bound(list(_binds(image, name, imports))))
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise InputError(f"{image.path}: damaged fix-ups: {error}") from error
    address, symbol, target = (np.concatenate([part[i] for part in columns]) for i in range(3))
    return Fixups(address, symbol, target, tuple(imports))


class _Chains:
    """Read chained fix-ups; names of imports are added to `imports`."""

    def __init__(self, image: MachO, imports: list[str]) -> None:
        self.image = image
        self.imports = imports
        self.blob = image.part("chained fixups").tobytes()

    def unpack(self, layout: str, offset: int) -> tuple[int, ...]:
        """Unpack numbers at an offset of the fix-ups' data."""
        return struct.unpack_from(self.image.order + layout, self.blob, offset)

    def read_imports(self) -> int:
        """Read the imports; return the start of the table of chains."""
        _, starts, imports, symbols, count, form, _ = self.unpack("7I", 0)
        width, addend_layout = {1: (4, ""), 2: (8, "i"), 3: (16, "Q")}.get(form, (0, ""))
        if not width or imports + count * width > len(self.blob):
            raise ValueError(f"{count} imports of format {form}")
        addends = []
        left = _MOST_NAME_BYTES * (len(self.blob) + 4096)
        for i in range(count):
            if form == 3:
                word, addend = self.unpack("QQ", imports + 16 * i)
                addend -= (addend >> 63) << 64
                name = word >> 32
            else:
                (word,) = self.unpack("I", imports + width * i)
                addend = self.unpack("i", imports + width * i + 4)[0] if addend_layout else 0
                name = word >> 9
            addends.append(addend)
            self.imports.append(_name(self.blob, symbols + name))
            left -= len(self.imports[-1])
            if left < 0:
                raise ValueError(
                    f"names of imports take more than {_MOST_NAME_BYTES} times their table"
                )
        self.addends = np.array([*addends, 0], np.int64)
        return starts

    def columns(self) -> Iterator[_Pointers]:
        """Yield the pointers of each segment."""
        starts = self.read_imports()
        (segments,) = self.unpack("I", starts)
        if segments > len(self.image.segments):
            raise ValueError(f"chains in {segments} segments of {len(self.image.segments)}")
        for i, segment in enumerate(self.image.segments[:segments]):
            (where,) = self.unpack("I", starts + 4 + 4 * i)
            if where:
                yield self.segment(segment, starts + where)

    def segment(self, segment: Segment, position: int) -> _Pointers:
        """Follow the chains of a segment, one step in all pages at a time.

        position: start of its table of pages.
        """
        _, page_size, form, _, _, pages = self.unpack("IHHQIH", position)
        if form not in (PTR_64, PTR_64_OFFSET, PTR_32, *_ARM64E) or not page_size:
            raise InputError(f"{self.image.path}: chained fix-ups of format {form} are not known")
        if position + 22 + 2 * pages > len(self.blob):
            raise ValueError(f"{pages} pages of segment {segment.name}")
        words = np.frombuffer(self.blob, self.image.order + "u2", pages, position + 22)
        page = np.flatnonzero(words != PAGE_NONE)
        start = words[page].astype(np.int64)
        if (start & PAGE_MULTI).any():
            raise InputError(f"{self.image.path}: several chains in a page are not known")
        offset = page * page_size + start
        end = np.minimum((page + 1) * page_size, segment.file_size)
        size = 4 if form == PTR_32 else 8
        found = [_Pointers(_NOTHING, _NOTHING, _NOTHING)]
        while len(offset):
            # A chain goes upwards and ends with its page, which limits the work for a damaged one.
            if (offset + size > end).any():
                where = int(offset[np.argmax(offset + size > end)])
                raise ValueError(f"a chain leaves its page at {where} of segment {segment.name}")
            value = _read(self.image, segment.offset + offset, size)
            symbol, target, step = self.pointers(value, form)
            if int(symbol.max()) >= len(self.addends) - 1:
                raise ValueError(f"import {symbol.max()} of {len(self.addends) - 1}")
            found.append(_Pointers(segment.address + offset, symbol, target + self.addends[symbol]))
            goes_on = step > 0
            offset, end = (offset + step)[goes_on], end[goes_on]
        address, symbol, target = (np.concatenate([part[i] for part in found]) for i in range(3))
        order = packed_order(address)
        return _Pointers(address[order], symbol[order], target[order])

    def pointers(self, value: npt.NDArray[np.uint64], form: int) -> _Decoded:
        """Decode pointers."""

        def bits(low: int, count: int) -> Int:
            return (value >> np.uint64(low) & np.uint64((1 << count) - 1)).astype(np.int64)

        if form == PTR_32:
            bind, step = bits(31, 1) > 0, bits(26, 5) * 4
            ordinal, addend, target = bits(0, 20), bits(20, 6), bits(0, 26)
        elif form in _ARM64E:
            step = bits(51, 11) * 8
            signed, bind = bits(63, 1) > 0, bits(62, 1) > 0
            ordinal = bits(0, 24 if form == PTR_ARM64E_USERLAND24 else 16)
            addend = np.where(signed, 0, bits(32, 19))
            target = np.where(signed, bits(0, 32), bits(0, 43))
            target += np.where(signed | (form != PTR_ARM64E), self.image.base, 0)
        else:
            bind, step = bits(63, 1) > 0, bits(51, 12) * 4
            ordinal, addend = bits(0, 24), bits(24, 8)
            target = bits(0, 36) + (self.image.base if form == PTR_64_OFFSET else 0)
        return _Decoded(np.where(bind, ordinal, -1), np.where(bind, addend, target), step)


def _name(blob: bytes, offset: int) -> str:
    """Return the string at an offset. Raises ValueError if there is none."""
    end = blob.find(b"\0", offset)
    if not 0 <= offset < len(blob) or end < 0:
        raise ValueError(f"a name at {offset} of {len(blob)} bytes")
    return blob[offset:end].decode("utf-8", "backslashreplace")


class _Cursor:
    """The place where opcodes write: an offset in a segment, checked on use."""

    def __init__(self, image: MachO) -> None:
        self.image = image
        self.segment: Segment | None = None
        self.offset = 0
        # An image cannot have more pointers than bytes / 4, but damaged opcodes could state any
        # number.
        self.left = image.size // 4

    def set(self, segment: int, offset: int) -> None:
        """Move to an offset of a segment."""
        if segment >= len(self.image.segments):
            raise ValueError(f"segment {segment} of {len(self.image.segments)}")
        self.segment = self.image.segments[segment]
        self.offset = offset

    def advance(self, by: int) -> None:
        """Move forward by some bytes."""
        # a large number wraps around, which moves back
        self.offset = (self.offset + by) % (1 << 64)

    def run(self, count: int, skip: int) -> _Run:
        """Return the pointers from here, `skip` bytes apart, and move past them.

        Raises ValueError if one is outside the segment.
        """
        if not count:
            return _Run(0, 0, 0, 0)
        size = self.image.pointer_size
        step = (size + skip) % (1 << 64)
        step -= step >> 63 << 64
        last = self.offset + step * (count - 1)
        most = -1 if self.segment is None else self.segment.file_size - size
        if self.segment is None or self.offset > most or not 0 <= last <= most:
            name = self.segment.name if self.segment else ""
            raise ValueError(f"a pointer at {last % (1 << 64):#x} of segment {name}")
        self.left -= count
        if self.left < 0:
            raise ValueError("more pointers than fit into the image")
        address, offset = self.segment.address + self.offset, self.segment.offset + self.offset
        self.advance(step * count)
        return _Run(address, offset, count, step)


def _spread(runs: Sequence[_Run]) -> _Spread:
    """List the pointers of the runs."""
    columns = np.array(runs, np.int64).reshape(-1, 4)
    address, offset, count, step = columns.T
    run = np.repeat(np.arange(len(columns)), count)
    nth = np.arange(len(run)) - np.repeat(np.cumsum(count) - count, count)
    way = step[run] * nth
    return _Spread(address[run] + way, offset[run] + way, run)


def _rebased(image: MachO, runs: Sequence[_Run]) -> _Pointers:
    """Read pointers into the image itself."""
    address, offset, _ = _spread(runs)
    value = _read(image, offset, image.pointer_size)
    target = (value & np.uint64((1 << 62) - 1)).astype(np.int64)
    return _Pointers(address, np.full(len(address), -1, np.int64), target)


def _bound(runs: Sequence[_BoundRun]) -> _Pointers:
    """List the pointers of runs that are bound to imports."""
    address, _, run = _spread([each.run for each in runs])
    symbol = np.array([each.symbol for each in runs], np.int64)
    addend = np.array([each.addend for each in runs], np.int64)
    return _Pointers(address, symbol[run], addend[run])


def _read(image: MachO, offset: Int, size: int) -> npt.NDArray[np.uint64]:
    """Read numbers of 4 or 8 bytes at file offsets."""
    if not len(offset):
        return np.zeros(0, np.uint64)
    shape = (len(image.data) - size + 1,)
    words: npt.NDArray[np.unsignedinteger] = np.ndarray(
        shape, f"{image.order}u{size}", buffer=image.data.data, strides=(1,)
    )
    return words[offset].astype(np.uint64)


def _rebases(image: MachO) -> Iterator[_Run]:
    """Yield runs of pointers into the image itself."""
    reader = UlebReader(image.part("rebase opcodes").tobytes())
    cursor = _Cursor(image)
    pointer = image.pointer_size
    while reader.position < len(reader.data):
        byte = reader.byte()
        opcode, immediate = byte & 0xF0, byte & 0x0F
        if opcode == 0x00:  # done
            return
        if opcode == 0x10:  # type
            continue
        if opcode == 0x20:  # segment and offset
            cursor.set(immediate, reader.uleb())
        elif opcode == 0x30:
            cursor.advance(reader.uleb())
        elif opcode == 0x40:
            cursor.advance(immediate * pointer)
        elif opcode == 0x50:
            yield cursor.run(immediate, 0)
        elif opcode == 0x60:
            yield cursor.run(reader.uleb(), 0)
        elif opcode == 0x70:
            yield cursor.run(1, reader.uleb())
        elif opcode == 0x80:
            count = reader.uleb()
            yield cursor.run(count, reader.uleb())
        else:
            raise ValueError(f"rebase opcode {byte:#x}")


def _binds(image: MachO, part: str, imports: list[str]) -> Iterator[_BoundRun]:
    """Yield the runs of bound pointers; add their names to `imports`."""
    reader = UlebReader(image.part(part).tobytes())
    cursor = _Cursor(image)
    is_lazy = part == "lazy bind opcodes"
    known: dict[str, int] = {}
    symbol, addend = -1, 0
    while reader.position < len(reader.data):
        byte = reader.byte()
        opcode, immediate = byte & 0xF0, byte & 0x0F
        if opcode == 0x00:  # ends the table; in the lazy table, it ends each entry
            if not is_lazy:
                return
        elif opcode in (0x10, 0x30, 0x50):  # library, type
            pass
        elif opcode == 0x20:
            reader.uleb()
        elif opcode == 0x40:
            name = reader.text().decode("utf-8", "backslashreplace")
            symbol = known.setdefault(name, len(imports))
            if symbol == len(imports):
                imports.append(name)
        elif opcode == 0x60:
            addend = reader.sleb()
        elif opcode == 0x70:
            cursor.set(immediate, reader.uleb())
        elif opcode == 0x80:
            cursor.advance(reader.uleb())
        elif opcode in (0x90, 0xA0, 0xB0, 0xC0):
            count, skip = _repeat(reader, opcode, immediate * image.pointer_size)
            if not -(1 << 63) <= addend < 1 << 63:
                raise ValueError(f"addend {addend:#x}")
            yield _BoundRun(cursor.run(count, skip), symbol, addend)
        else:
            raise ValueError(f"bind opcode {byte:#x}")


def _repeat(reader: UlebReader, opcode: int, scaled: int) -> tuple[int, int]:
    """Read the repeat count of a bind, and the bytes to skip after each."""
    if opcode == 0xA0:
        return 1, reader.uleb()
    if opcode == 0xB0:
        return 1, scaled
    return (reader.uleb(), reader.uleb()) if opcode == 0xC0 else (1, 0)
