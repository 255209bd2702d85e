"""Read relocation sections in any of the five encodings, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.texts import Bytes, Int
from sizeguard.formats.elf.layout import Layout

# Flags of a group of packed relocations, as in Android's linker.
GROUPED_BY_INFO, GROUPED_BY_OFFSET, GROUPED_BY_ADDEND, HAS_ADDEND = 1, 2, 4, 8
_HALF = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, eq=False)
class Relocations:
    """Relocations in the order of their table, as columns.

    offset:     of the relocated place: an address; in a relocatable object an offset in the section
                that sh_info names
    type, symbol: of r_info; symbol is an index into the table that sh_link names
    addend:     0 if the table has none (REL, RELR)
    start, end: the bytes of the file that encode it

    The bytes of a RELR word for several relocations are divided among them; the first ones get the
    remainder. Shared fields of a group in a packed table count for the group's first relocation.
    """

    offset: Int
    type: npt.NDArray[np.uint32]
    symbol: Int
    addend: Int
    start: Int
    end: Int

    def __len__(self) -> int:
        """Return the number of relocations."""
        return len(self.offset)


def joined(tables: Sequence[Relocations]) -> Relocations:
    """Join tables, in their order."""
    if not tables:
        none = np.zeros(0, np.int64)
        return Relocations(none, none.astype(np.uint32), none, none, none, none)
    return Relocations(
        *(np.concatenate([getattr(t, field.name) for t in tables]) for field in fields(Relocations))
    )


def read_plain(data: Bytes, layout: Layout, offset: int, size: int, *, addend: bool) -> Relocations:
    """Read REL or RELA; a partial entry at the end is ignored.

    offset, size: bytes of the section in the file, as in the other readers
    addend: whether entries have one (RELA)
    """
    dtype = layout.relocation(addend=addend)
    count = size // dtype.itemsize
    table: Any = data[offset : offset + count * dtype.itemsize].view(dtype)
    type_, symbol = _type_and_symbol(table["info"].astype(np.uint64), layout)
    start = offset + dtype.itemsize * np.arange(count, dtype=np.int64)
    return Relocations(
        offset=table["offset"].astype(np.uint64).view(np.int64),
        type=type_,
        symbol=symbol,
        addend=table["addend"].astype(np.int64) if addend else np.zeros(count, np.int64),
        start=start,
        end=start + dtype.itemsize,
    )


def read_relr(data: Bytes, layout: Layout, offset: int, size: int) -> Relocations:
    """Read RELR.

    An even word is an address to relocate; an odd word is a bitmap of the words after the last
    place.
    """
    width = layout.word_size
    bits = 8 * width - 1
    words = data[offset : offset + size // width * width].view(layout.word).astype(np.uint64)
    count = len(words)
    is_bitmap = (words & np.uint64(1)).astype(bool)
    index = np.arange(count, dtype=np.int64)
    last = np.maximum.accumulate(np.where(is_bitmap, -1, index)) if count else index
    known = last >= 0
    base = (
        np.where(known, words[np.maximum(last, 0)].view(np.int64), 0)
        + width
        + (index - last - 1) * bits * width
    )
    # Bit 0 marks a bitmap; bit k is for word k - 1.
    little = words.astype("<u8").view(np.uint8).reshape(count, 8)
    set_ = np.unpackbits(little, axis=1, bitorder="little")[:, 1 : bits + 1].astype(bool)
    set_[~(is_bitmap & known)] = False
    row, bit = np.nonzero(set_)
    entry = np.concatenate([index[~is_bitmap], row])
    place = np.concatenate([words[~is_bitmap].view(np.int64), base[row] + bit * width])
    order = np.lexsort((place, entry))
    entry, place = entry[order], place[order]
    # Divide the word: relocation r of k gets the bytes [r * share + min(r, rest), …).
    many = np.bincount(entry, minlength=count)
    first = np.cumsum(many) - many
    rank = np.arange(len(entry), dtype=np.int64) - first[entry]
    share, rest = np.divmod(width, np.maximum(many[entry], 1))
    start = offset + entry * width + rank * share + np.minimum(rank, rest)
    end = start + share + (rank < rest)
    zero = np.zeros(len(entry), np.int64)
    return Relocations(place, np.zeros(len(entry), np.uint32), zero, zero, start, end)


def read_packed(path: Path, data: Bytes, layout: Layout, offset: int, size: int) -> Relocations:
    """Read Android's packed relocations (APS2): groups of relocations that share fields.

    Raises InputError if they are damaged.
    """
    raw = data[offset : offset + size].tobytes()
    if raw[:4] != b"APS2":
        raise InputError(f"{path}: packed relocations without the magic APS2")
    numbers = _Numbers(path, raw, 4)
    total, place = numbers.signed(), numbers.signed()
    # Each relocation takes at least one word of the file, so a table cannot have more of them than
    # the file has words.
    if not 0 <= total <= len(data) // layout.word_size:
        raise InputError(f"{path}: {total} packed relocations in a file of {len(data)} bytes")
    rows: list[tuple[int, int, int, int, int]] = []
    addend = 0
    begin = 0
    while len(rows) < total:
        many, flags = numbers.signed(), numbers.signed()
        if not 0 < many <= total - len(rows):
            raise InputError(f"{path}: a group of {many} packed relocations of {total}")
        step = numbers.signed() if flags & GROUPED_BY_OFFSET else 0
        info = numbers.signed() if flags & GROUPED_BY_INFO else 0
        if flags & HAS_ADDEND and flags & GROUPED_BY_ADDEND:
            addend += numbers.signed()
        elif not flags & HAS_ADDEND:
            addend = 0
        for _ in range(many):
            place += step if flags & GROUPED_BY_OFFSET else numbers.signed()
            info = info if flags & GROUPED_BY_INFO else numbers.signed()
            if flags & HAS_ADDEND and not flags & GROUPED_BY_ADDEND:
                addend += numbers.signed()
            start, end = offset + begin, offset + numbers.position
            rows.append((_wrap(place), info & 0xFFFFFFFFFFFFFFFF, _wrap(addend), start, end))
            begin = numbers.position
    return _packed_columns(rows, layout)


def read_crel(path: Path, data: Bytes, layout: Layout, offset: int, size: int) -> Relocations:
    """Read compact relocations (CREL): the differences from one to the next.

    Raises InputError if they are damaged.
    """
    numbers = _Numbers(path, data[offset : offset + size].tobytes(), 0)
    header = numbers.unsigned()
    total, scale, flags = header >> 3, header & 3, 3 if header & 4 else 2
    if total > size:
        raise InputError(f"{path}: {total} compact relocations in {size} bytes")
    rows: list[tuple[int, int, int, int, int, int]] = []
    place = symbol = type_ = addend = 0
    for _ in range(total):
        begin = numbers.position
        first = numbers.byte()
        place += first >> flags
        if first >= 0x80:
            place += (numbers.unsigned() << (7 - flags)) - (0x80 >> flags)
        symbol += numbers.signed() if first & 1 else 0
        type_ += numbers.signed() if first & 2 else 0
        addend += numbers.signed() if first & 4 and flags == 3 else 0
        where = offset + begin, offset + numbers.position
        rows.append((_wrap(place << scale), type_ & _HALF, symbol & _HALF, _wrap(addend), *where))
    table = np.array(rows, np.int64).reshape(-1, 6)
    places, types, *others = (table[:, i].copy() for i in range(6))
    return Relocations(places, types.astype(np.uint32), *others)


class _Numbers:
    """Read LEB128 numbers, one after the other. Raises InputError at the end of the data."""

    def __init__(self, path: Path, raw: bytes, position: int) -> None:
        self.path = path
        self.raw = raw
        self.position = position

    def byte(self) -> int:
        """Read one byte."""
        if self.position >= len(self.raw):
            raise self._damaged()
        self.position += 1
        return self.raw[self.position - 1]

    def signed(self) -> int:
        """Read the next number with a sign."""
        start = self.position
        value = self.unsigned()
        bits = 7 * (self.position - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def unsigned(self) -> int:
        """Read the next number without a sign."""
        value = shift = 0
        while True:
            if shift > 63:
                raise self._damaged()
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _damaged(self) -> InputError:
        return InputError(
            f"{self.path}: packed relocations are damaged at {self.position} of"
            f" {len(self.raw)} bytes"
        )


def _packed_columns(rows: list[tuple[int, int, int, int, int]], layout: Layout) -> Relocations:
    """Make columns from rows: place, info, addend, and the bytes [start, end) of the file."""
    columns = np.array(
        rows, dtype=np.dtype([("p", "i8"), ("i", "u8"), ("a", "i8"), ("s", "i8"), ("e", "i8")])
    )
    return Relocations(
        columns["p"].copy(),
        *_type_and_symbol(columns["i"], layout),
        columns["a"].copy(),
        columns["s"].copy(),
        columns["e"].copy(),
    )


def _type_and_symbol(
    info: npt.NDArray[np.uint64], layout: Layout
) -> tuple[npt.NDArray[np.uint32], Int]:
    """Split the field r_info. MIPS has up to three types, the first one in the lowest byte."""
    if layout.is_mips64el:
        types = (info >> np.uint64(32)).astype(np.uint32).byteswap()
        return types, (info & np.uint64(_HALF)).astype(np.int64)
    shift, mask = (32, 0xFFFFFFFF) if layout.is_64 else (8, 0xFF)
    return (info & np.uint64(mask)).astype(np.uint32), (info >> np.uint64(shift)).astype(np.int64)


def _wrap(value: int) -> int:
    """Wrap a number around to 64 bits, signed."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
