"""Read the pointers that dyld writes, from chained fix-ups or from rebase and bind opcodes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.sort import packed_order
from sizeguard.columns.texts import Int
from sizeguard.formats.macho.image import MachO, Segment
from sizeguard.formats.macho.opcodes import WrittenPointers, bound, rebased

PTR_ARM64E, PTR_64, PTR_32, PTR_64_OFFSET = 1, 2, 3, 6
PTR_ARM64E_USERLAND, PTR_ARM64E_USERLAND24 = 9, 12
_MOST_NAME_BYTES = 64  # bytes of names for each byte of their table, since names may share suffixes
PAGE_NONE, PAGE_MULTI = 0xFFFF, 0x8000
_SEGMENT_HEADER = 22  # bytes before a segment's table of pages
_NOTHING = np.zeros(0, np.int64)
_ARM64E = (PTR_ARM64E, PTR_ARM64E_USERLAND, PTR_ARM64E_USERLAND24)


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
    columns: list[WrittenPointers] = []
    try:
        if image.extent("chained fixups") is not None:
            columns += _Chains(image, imports).columns()
        columns.append(_rebased(image))
        for name in ("bind opcodes", "weak bind opcodes", "lazy bind opcodes"):
            columns.append(bound(image, name, imports))
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
        # A word with the offset of the name from its bit `low` on; an addend in two of the formats.
        layout, low = {1: ("I", 9), 2: ("Ii", 9), 3: ("Qq", 32)}.get(form, ("", 0))
        width = struct.calcsize(self.image.order + layout)
        if not width or imports + count * width > len(self.blob):
            raise ValueError(f"{count} imports of format {form}")
        addends = []
        left = _MOST_NAME_BYTES * (len(self.blob) + 4096)
        for i in range(count):
            word, *addend = self.unpack(layout, imports + width * i)
            addends += addend or [0]
            self.imports.append(_name(self.blob, symbols + (word >> low)))
            left -= len(self.imports[-1])
            if left < 0:
                raise ValueError(
                    f"names of imports take more than {_MOST_NAME_BYTES} times their table"
                )
        # The last one is for pointers without an import, which have the index -1.
        self.addends = np.array([*addends, 0], np.int64)
        return starts

    def columns(self) -> Iterator[WrittenPointers]:
        """Yield the pointers of each segment."""
        starts = self.read_imports()
        (segments,) = self.unpack("I", starts)
        if segments > len(self.image.segments):
            raise ValueError(f"chains in {segments} segments of {len(self.image.segments)}")
        for i, segment in enumerate(self.image.segments[:segments]):
            (where,) = self.unpack("I", starts + 4 + 4 * i)
            if where:
                yield self.segment(segment, starts + where)

    def segment(self, segment: Segment, position: int) -> WrittenPointers:
        """Follow the chains of a segment, one step in all pages at a time.

        position: of its header, in the fix-ups' data.
        """
        _, page_size, form, _, _, pages = self.unpack("IHHQIH", position)
        if form not in (PTR_64, PTR_64_OFFSET, PTR_32, *_ARM64E) or not page_size:
            raise InputError(f"{self.image.path}: chained fix-ups of format {form} are not known")
        table = position + _SEGMENT_HEADER
        if table + 2 * pages > len(self.blob):
            raise ValueError(f"{pages} pages of segment {segment.name}")
        words = np.frombuffer(self.blob, self.image.order + "u2", pages, table)
        page = np.flatnonzero(words != PAGE_NONE)
        start = words[page].astype(np.int64)
        if (start & PAGE_MULTI).any():
            raise InputError(f"{self.image.path}: several chains in a page are not known")
        offset = page * page_size + start
        end = np.minimum((page + 1) * page_size, segment.file_size)
        where, value = self.follow(segment, offset, end, form)
        # A step decodes no more than the next step; decoding all at once takes half the time.
        order = packed_order(where)
        symbol, target = self.pointers(value[order], form)
        if int(symbol.max(initial=-1)) >= len(self.addends) - 1:
            raise ValueError(f"import {symbol.max()} of {len(self.addends) - 1}")
        return WrittenPointers(
            segment.address + where[order], symbol, target + self.addends[symbol]
        )

    def follow(
        self, segment: Segment, offset: Int, end: Int, form: int
    ) -> tuple[Int, npt.NDArray[np.uint64]]:
        """Return where each pointer of some chains stands in its segment, and its bits.

        offset: where each chain starts; end: where its page ends.
        Raises ValueError for a chain that leaves its page.
        """
        size = 4 if form == PTR_32 else 8
        low, count, stride = (
            (26, 5, 4) if form == PTR_32 else (51, 11, 8) if form in _ARM64E else (51, 12, 4)
        )
        offsets, values = [_NOTHING], [np.zeros(0, np.uint64)]
        while len(offset):
            # A chain goes upwards and ends with its page, which limits the work for a damaged one.
            if (offset + size > end).any():
                where = int(offset[np.argmax(offset + size > end)])
                raise ValueError(f"a chain leaves its page at {where} of segment {segment.name}")
            value = _read(self.image, segment.offset + offset, size)
            offsets.append(offset)
            values.append(value)
            step = _bits(value, low, count) * stride
            goes_on = step > 0
            offset, end = (offset + step)[goes_on], end[goes_on]
        return np.concatenate(offsets), np.concatenate(values)

    def pointers(self, value: npt.NDArray[np.uint64], form: int) -> tuple[Int, Int]:
        """Decode pointers: import or -1, target or addend. Apple's fixup-chains.h has the bits."""
        if form == PTR_32:
            bind = _bits(value, 31, 1) > 0
            ordinal, addend = _bits(value, 0, 20), _bits(value, 20, 6)
            target = _bits(value, 0, 26)
        elif form in _ARM64E:
            signed, bind = _bits(value, 63, 1) > 0, _bits(value, 62, 1) > 0
            ordinal = _bits(value, 0, 24 if form == PTR_ARM64E_USERLAND24 else 16)
            # Bit 18 of an addend is its sign. A signed pointer has no addend.
            addend = np.where(signed, 0, (_bits(value, 32, 19) ^ 0x40000) - 0x40000)
            target = np.where(signed, _bits(value, 0, 32), _bits(value, 0, 43))
            target += np.where(signed | (form != PTR_ARM64E), self.image.base, 0)
        else:
            bind = _bits(value, 63, 1) > 0
            ordinal, addend = _bits(value, 0, 24), _bits(value, 24, 8)
            target = _bits(value, 0, 36) + (self.image.base if form == PTR_64_OFFSET else 0)
        return np.where(bind, ordinal, -1), np.where(bind, addend, target)


def _bits(value: npt.NDArray[np.uint64], low: int, count: int) -> Int:
    """Return `count` bits of each number."""
    return (value >> np.uint64(low) & np.uint64((1 << count) - 1)).astype(np.int64)


def _name(blob: bytes, offset: int) -> str:
    """Return the string at an offset. Raises ValueError if there is none."""
    end = blob.find(b"\0", offset)
    if not 0 <= offset < len(blob) or end < 0:
        raise ValueError(f"a name at {offset} of {len(blob)} bytes")
    return blob[offset:end].decode("utf-8", "backslashreplace")


def _rebased(image: MachO) -> WrittenPointers:
    """Return address, -1 and target of pointers into the image itself."""
    found = rebased(image)
    value = _read(image, found.offset, image.pointer_size)
    # No address needs the two top bits; without them, a damaged pointer is not negative.
    target = (value & np.uint64((1 << 62) - 1)).astype(np.int64)
    return WrittenPointers(found.address, np.full(len(target), -1, np.int64), target)


def _read(image: MachO, offset: Int, size: int) -> npt.NDArray[np.uint64]:
    """Read numbers of 4 or 8 bytes at file offsets."""
    if not len(offset):
        return np.zeros(0, np.uint64)
    shape = (len(image.data) - size + 1,)
    words: npt.NDArray[np.unsignedinteger] = np.ndarray(
        shape, f"{image.order}u{size}", buffer=image.data.data, strides=(1,)
    )
    return words[offset].astype(np.uint64)
