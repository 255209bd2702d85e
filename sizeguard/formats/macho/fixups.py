"""Read the pointers that dyld writes, from chained fix-ups or from rebase and bind opcodes."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from sizeguard.base.errors import InputError
from sizeguard.columns.texts import Int
from sizeguard.formats.macho.image import MachO, Segment
from sizeguard.formats.macho.uleb import UlebReader

PTR_ARM64E, PTR_64, PTR_32, PTR_64_OFFSET = 1, 2, 3, 6
PTR_ARM64E_USERLAND, PTR_ARM64E_USERLAND24 = 9, 12
_MOST_NAME_BYTES = 64  # bytes of names for each byte of their table: names may share their ends
PAGE_NONE, PAGE_MULTI = 0xFFFF, 0x8000
_ARM64E = (PTR_ARM64E, PTR_ARM64E_USERLAND, PTR_ARM64E_USERLAND24)


@dataclass(frozen=True, slots=True)
class Fixups:
    """Pointers that dyld writes, as parallel columns, in order of the file.

    address: of the pointer
    symbol:  index into imports, -1 for a pointer into the image itself
    target:  the address that it points at; for an import the addend
    imports: names
    """

    address: Int
    symbol: Int
    target: Int
    imports: tuple[str, ...]


def fixups(image: MachO) -> Fixups:
    """Read the fix-ups; an image has one of the two kinds.

    Raises InputError for damaged ones.
    """
    imports: list[str] = []
    rows = array("q")  # 24 bytes for each; a tuple would take 200
    try:
        if image.extent("chained fixups") is not None:
            rows.extend(chain.from_iterable(_Chains(image, imports).rows()))
        for address in _rebases(image):
            rows.extend((address, -1, _pointer(image, address)))
        for name in ("bind opcodes", "weak bind opcodes", "lazy bind opcodes"):
            rows.extend(chain.from_iterable(_binds(image, name, imports)))
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise InputError(f"{image.path}: damaged fix-ups: {error}") from error
    columns = np.frombuffer(rows, np.int64).reshape(-1, 3) if rows else np.zeros((0, 3), np.int64)
    return Fixups(columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].copy(), tuple(imports))


class _Chains:
    """Reads chained fix-ups; names of imports go to `imports`."""

    def __init__(self, image: MachO, imports: list[str]) -> None:
        self.image = image
        self.imports = imports
        self.blob = image.part("chained fixups").tobytes()

    def unpack(self, layout: str, offset: int) -> tuple[int, ...]:
        """Unpack numbers at an offset of the fix-ups' data."""
        return struct.unpack_from(self.image.order + layout, self.blob, offset)

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """Yield address, import or -1, and target or addend, of each pointer."""
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
                raise ValueError(f"names of more than {_MOST_NAME_BYTES} times the size of all")
        (segments,) = self.unpack("I", starts)
        if segments > len(self.image.segments):
            raise ValueError(f"chains in {segments} segments of {len(self.image.segments)}")
        for i, segment in enumerate(self.image.segments[:segments]):
            (where,) = self.unpack("I", starts + 4 + 4 * i)
            if where:
                yield from self.segment(segment, starts + where, addends)

    def segment(
        self, segment: Segment, position: int, addends: list[int]
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the pointers of a segment; position: of its table of pages."""
        _, page_size, form, _, _, pages = self.unpack("IHHQIH", position)
        if form not in (PTR_64, PTR_64_OFFSET, PTR_32, *_ARM64E) or not page_size:
            raise InputError(f"{self.image.path}: chained fix-ups of format {form} are not known")
        content = self.image.data[segment.offset : segment.offset + segment.file_size].tobytes()
        size = 4 if form == PTR_32 else 8
        for page in range(pages):
            (start,) = self.unpack("H", position + 22 + 2 * page)
            if start == PAGE_NONE:
                continue
            if start & PAGE_MULTI:
                raise InputError(f"{self.image.path}: several chains in a page are not known")
            offset = page * page_size + start
            end = min((page + 1) * page_size, len(content))
            while True:
                # A chain goes upwards and ends with its page: this bounds the work for a damaged
                # one.
                if offset + size > end:
                    raise ValueError(
                        f"a chain leaves its page at {offset} of segment {segment.name}"
                    )
                value = int.from_bytes(
                    content[offset : offset + size], "little" if self.image.order == "<" else "big"
                )
                symbol, target, step = self.pointer(value, form)
                if symbol >= len(addends):
                    raise ValueError(f"import {symbol} of {len(addends)}")
                yield (
                    segment.address + offset,
                    symbol,
                    target + (addends[symbol] if symbol >= 0 else 0),
                )
                if not step:
                    break
                offset += step

    def pointer(self, value: int, form: int) -> tuple[int, int, int]:
        """Decode a pointer: import or -1, target or addend, bytes to the next pointer."""
        if form == PTR_32:
            step = (value >> 26 & 31) * 4
            return (
                (value & 0xFFFFF, value >> 20 & 63, step)
                if value >> 31
                else (-1, value & 0x3FFFFFF, step)
            )
        if form in _ARM64E:
            step = (value >> 51 & 0x7FF) * 8
            signed, bind = value >> 63, value >> 62 & 1
            if bind:
                ordinal = value & (0xFFFFFF if form == PTR_ARM64E_USERLAND24 else 0xFFFF)
                return ordinal, 0 if signed else (value >> 32 & 0x7FFFF), step
            target = value & 0xFFFFFFFF if signed else value & 0x7FFFFFFFFFF
            return -1, target + (self.image.base if signed or form != PTR_ARM64E else 0), step
        step = (value >> 51 & 0xFFF) * 4
        if value >> 63:
            return value & 0xFFFFFF, value >> 24 & 0xFF, step
        return -1, (value & 0xFFFFFFFFF) + (self.image.base if form == PTR_64_OFFSET else 0), step


def _name(blob: bytes, offset: int) -> str:
    """Return the string at an offset. Raises ValueError if there is none."""
    end = blob.find(b"\0", offset)
    if not 0 <= offset < len(blob) or end < 0:
        raise ValueError(f"a name at {offset} of {len(blob)} bytes")
    return blob[offset:end].decode("utf-8", "backslashreplace")


class _Cursor:
    """The place where opcodes write: an offset in a segment, checked when it is used."""

    def __init__(self, image: MachO) -> None:
        self.image = image
        self.segment: Segment | None = None
        self.offset = 0
        # No image has more pointers than bytes / 4; opcodes with counts could ask for any number.
        self.left = image.size // 4

    def set(self, segment: int, offset: int) -> None:
        """Go to an offset of a segment."""
        if segment >= len(self.image.segments):
            raise ValueError(f"segment {segment} of {len(self.image.segments)}")
        self.segment = self.image.segments[segment]
        self.offset = offset

    def advance(self, by: int) -> None:
        """Go on by some bytes."""
        self.offset = (self.offset + by) % (1 << 64)  # going back is a number that wraps around

    def use(self) -> int:
        """Return the address of the pointer here, and go behind it.

        Raises ValueError if it is outside of the segment.
        """
        size = self.image.pointer_size
        if self.segment is None or self.offset + size > self.segment.file_size:
            raise ValueError(
                f"a pointer at {self.offset:#x} of segment"
                f" {self.segment.name if self.segment else ''}"
            )
        self.left -= 1
        if self.left < 0:
            raise ValueError("more pointers than the image has room for")
        address = self.segment.address + self.offset
        self.advance(size)
        return address


def _rebases(image: MachO) -> Iterator[int]:
    """Yield the addresses of pointers into the image itself."""
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
            yield from _run(cursor, immediate, 0)
        elif opcode == 0x60:
            yield from _run(cursor, reader.uleb(), 0)
        elif opcode == 0x70:
            yield from _run(cursor, 1, reader.uleb())
        elif opcode == 0x80:
            count = reader.uleb()
            yield from _run(cursor, count, reader.uleb())
        else:
            raise ValueError(f"rebase opcode {byte:#x}")


def _run(cursor: _Cursor, count: int, skip: int) -> Iterator[int]:
    """Yield the addresses of pointers with `skip` bytes between them."""
    for _ in range(count):
        yield cursor.use()
        cursor.advance(skip)


def _binds(image: MachO, part: str, imports: list[str]) -> Iterator[tuple[int, int, int]]:
    """Yield address, import and addend of each bound pointer."""
    reader = UlebReader(image.part(part).tobytes())
    cursor = _Cursor(image)
    is_lazy = part == "lazy bind opcodes"
    known: dict[str, int] = {}
    symbol, addend = -1, 0
    while reader.position < len(reader.data):
        byte = reader.byte()
        opcode, immediate = byte & 0xF0, byte & 0x0F
        if opcode == 0x00:  # ends the table; in the lazy table each entry
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
            for address in _run(cursor, count, skip):
                yield address, symbol, addend
        else:
            raise ValueError(f"bind opcode {byte:#x}")


def _repeat(reader: UlebReader, opcode: int, scaled: int) -> tuple[int, int]:
    """Read how often a bind repeats, and the bytes to skip after each; scaled: the immediate's."""
    if opcode == 0xA0:
        return 1, reader.uleb()
    if opcode == 0xB0:
        return 1, scaled
    return (reader.uleb(), reader.uleb()) if opcode == 0xC0 else (1, 0)


def _pointer(image: MachO, address: int) -> int:
    """Read the pointer that the file holds at an address."""
    segment = next(s for s in image.segments if s.address <= address < s.address + s.file_size)
    start = segment.offset + address - segment.address
    raw = image.data[start : start + image.pointer_size].tobytes()
    return int.from_bytes(raw, "little" if image.order == "<" else "big") & (1 << 62) - 1
