"""Turns relocation sections, of any of the four encodings, into columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sizeguard.errors import InputError
from sizeguard.formats.elf.layout import Layout
from sizeguard.formats.texts import Int

Bytes = npt.NDArray[np.uint8]

GROUPED_BY_INFO, GROUPED_BY_OFFSET, GROUPED_BY_ADDEND, HAS_ADDEND = 1, 2, 4, 8


@dataclass(frozen=True, slots=True, eq=False)
class Relocations:
    """Relocations in the order of their table, as columns.

    offset:     what is relocated: an address, in a relocatable object an offset in the section that `info` names
    type, symbol: of r_info; symbol is an index into the linked table
    addend:     0 where the table has none (REL, RELR)
    start, end: the bytes of the file that encode it. A RELR word that stands for several is shared out among them byte by byte, the
                first ones get the remainder; what a packed table says once for a group counts to the group's first.
    """

    offset: Int
    type: npt.NDArray[np.uint32]
    symbol: Int
    addend: Int
    start: Int
    end: Int

    def __len__(self) -> int:
        return len(self.offset)


def read_plain(data: Bytes, layout: Layout, offset: int, size: int, *, addend: bool) -> Relocations:
    """REL and RELA. A piece of an entry at the end is left out."""
    dtype = layout.relocation(addend=addend)
    count = size // dtype.itemsize
    table: Any = data[offset : offset + count * dtype.itemsize].view(dtype)
    info = table["info"].astype(np.uint64)
    shift, mask = (32, 0xFFFFFFFF) if layout.is_64 else (8, 0xFF)
    start = offset + dtype.itemsize * np.arange(count, dtype=np.int64)
    return Relocations(
        offset=table["offset"].astype(np.uint64).view(np.int64),
        type=(info & np.uint64(mask)).astype(np.uint32),
        symbol=(info >> np.uint64(shift)).astype(np.int64),
        addend=table["addend"].astype(np.int64) if addend else np.zeros(count, np.int64),
        start=start,
        end=start + dtype.itemsize,
    )


def read_relr(data: Bytes, layout: Layout, offset: int, size: int) -> Relocations:
    """RELR: an even word is an address to relocate, an odd one a bitmap of the words after the last place."""
    width = layout.word_size
    bits = 8 * width - 1
    words = data[offset : offset + size // width * width].view(layout.word).astype(np.uint64)
    count = len(words)
    is_bitmap = (words & np.uint64(1)).astype(bool)
    index = np.arange(count, dtype=np.int64)
    last = np.maximum.accumulate(np.where(is_bitmap, -1, index)) if count else index
    known = last >= 0
    base = np.where(known, words[np.maximum(last, 0)].view(np.int64), 0) + width + (index - last - 1) * bits * width
    # Bit 0 says that it is a bitmap; bit k stands for word k - 1.
    little = words.astype("<u8").view(np.uint8).reshape(count, 8)
    set_ = np.unpackbits(little, axis=1, bitorder="little")[:, 1 : bits + 1].astype(bool)
    set_[~(is_bitmap & known)] = False
    row, bit = np.nonzero(set_)
    entry = np.concatenate([index[~is_bitmap], row])
    place = np.concatenate([words[~is_bitmap].view(np.int64), base[row] + bit * width])
    order = np.lexsort((place, entry))
    entry, place = entry[order], place[order]
    # Share out the word: relocation r of k gets [r * share + min(r, rest), …).
    many = np.bincount(entry, minlength=count)
    first = np.cumsum(many) - many
    rank = np.arange(len(entry), dtype=np.int64) - first[entry]
    share, rest = np.divmod(width, np.maximum(many[entry], 1))
    start = offset + entry * width + rank * share + np.minimum(rank, rest)
    end = start + share + (rank < rest)
    zero = np.zeros(len(entry), np.int64)
    return Relocations(place, np.zeros(len(entry), np.uint32), zero, zero, start, end)


def read_packed(path: object, data: Bytes, layout: Layout, offset: int, size: int) -> Relocations:
    """Android's packed relocations (APS2): groups of relocations that share fields, as signed LEB128 numbers."""
    raw = data[offset : offset + size].tobytes()
    if raw[:4] != b"APS2":
        raise InputError(f"{path}: packed relocations without the magic APS2")
    position = 4

    def number() -> int:
        nonlocal position
        value = shift = 0
        while True:
            if position >= len(raw) or shift > 63:
                raise InputError(f"{path}: packed relocations are damaged at {position} of {len(raw)} bytes")
            byte = raw[position]
            position += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if byte & 64 else value

    total, place = number(), number()
    # Each relocation has a word of the file for itself, so a table cannot hold more of them than the file has words.
    if not 0 <= total <= len(data) // layout.word_size:
        raise InputError(f"{path}: {total} packed relocations in a file of {len(data)} bytes")
    rows: list[tuple[int, int, int, int, int]] = []
    addend = 0
    begin = 0
    while len(rows) < total:
        many, flags = number(), number()
        if not 0 < many <= total - len(rows):
            raise InputError(f"{path}: a group of {many} packed relocations of {total}")
        step = number() if flags & GROUPED_BY_OFFSET else 0
        info = number() if flags & GROUPED_BY_INFO else 0
        if flags & HAS_ADDEND and flags & GROUPED_BY_ADDEND:
            addend += number()
        elif not flags & HAS_ADDEND:
            addend = 0
        for _ in range(many):
            place += step if flags & GROUPED_BY_OFFSET else number()
            info = info if flags & GROUPED_BY_INFO else number()
            if flags & HAS_ADDEND and not flags & GROUPED_BY_ADDEND:
                addend += number()
            rows.append((_wrap(place), info & 0xFFFFFFFFFFFFFFFF, _wrap(addend), offset + begin, offset + position))
            begin = position
    columns = np.array(rows, dtype=np.dtype([("p", "i8"), ("i", "u8"), ("a", "i8"), ("s", "i8"), ("e", "i8")]))
    shift, mask = (32, 0xFFFFFFFF) if layout.is_64 else (8, 0xFF)
    info_column = columns["i"]
    return Relocations(
        columns["p"].copy(),
        (info_column & np.uint64(mask)).astype(np.uint32),
        (info_column >> np.uint64(shift)).astype(np.int64),
        columns["a"].copy(),
        columns["s"].copy(),
        columns["e"].copy(),
    )


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
