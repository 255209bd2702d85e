"""Turns the bytes of a symbol table into columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sizeguard.errors import InputError
from sizeguard.formats.elf.layout import SHN_LORESERVE, SHN_XINDEX, Layout
from sizeguard.formats.texts import Int, Texts

Bytes = npt.NDArray[np.uint8]

# Names may share their ends, but a table whose names are many times its strings is made to exhaust us.
MAX_SHARING = 16
FREE_BYTES = 1 << 20

_STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol; section is an index, 0 if undefined, SHN_ABS and the like if there is none."""

    name: str
    address: int
    size: int
    type: int
    binding: int
    section: int


@dataclass(frozen=True, eq=False)
class SymbolTable:
    """All symbols of a table in its order, as columns; entry i lies at [offset + i * entry_size, …) of the file.

    name: where in the file its name begins; strings: the bytes of the table that it lies in
    address: signed (two's complement); of a relocatable object an offset in its section
    section: an index into the file's sections; SHN_ABS, SHN_COMMON … come as negative numbers (SHN_ABS - 0x10000), so that they are
    none of more than 65,279 sections
    """

    section_index: int
    offset: int
    entry_size: int
    path: object
    data: Bytes
    strings: tuple[int, int]
    name: Int
    address: Int
    size: Int
    type: npt.NDArray[np.uint8]
    binding: npt.NDArray[np.uint8]
    visibility: npt.NDArray[np.uint8]
    section: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.address)

    @cached_property
    def names(self) -> Texts:
        """The names of all symbols; their buffer is the whole file."""
        start, end, which = self.distinct_names
        return Texts(self.data, start[which], end[which])

    @cached_property
    def distinct_names(self) -> tuple[Int, Int, npt.NDArray[np.int32]]:
        """The strings that symbols name, each once, in the file's order: start, end, and for each symbol which it has."""
        order = packed_order(self.name)
        ordered = self.name[order]
        new = np.ones(len(ordered), bool)
        new[1:] = ordered[1:] != ordered[:-1]
        which = np.empty(len(order), np.int32)
        which[order] = np.cumsum(new, dtype=np.int32) - np.int32(1)
        start = ordered[new]
        low, high = self.strings
        end = string_ends(self.data[:high], low, start)
        if int((end - start).sum()) > MAX_SHARING * (high - low) + FREE_BYTES:
            raise InputError(f"{self.path}: a damaged ELF file: symbols share names of a string table without ends")
        return start, end, which

    def objects(self) -> tuple[Symbol, ...]:
        known: dict[int, str] = {}
        texts = []
        for i, start in enumerate(self.name.tolist()):
            text = known.get(start)
            if text is None:
                text = known[start] = self.names[i]
            texts.append(text)
        section = np.where(self.section < 0, self.section + 0x10000, self.section)
        columns = (self.address.view(np.uint64), self.size, self.type, self.binding, section)
        return tuple(Symbol(*row) for row in zip(texts, *(column.tolist() for column in columns), strict=True))


def read_symbols(
    path: object, data: Bytes, layout: Layout, place: tuple[int, int, int], strings: tuple[int, int], extended: Bytes
) -> SymbolTable:
    """The table at place (section index, offset, size) with names in strings [start, end); all lie inside of the file.

    extended: the content of its SHT_SYMTAB_SHNDX section, empty if there is none.
    """
    index, offset, size = place
    dtype = layout.symbol
    if size % dtype.itemsize:
        raise InputError(f"{path}: a damaged ELF file: a symbol table of {size} bytes, not a multiple of {dtype.itemsize}")
    table: Any = data[offset : offset + size].view(dtype)
    raw = table["section"].astype(np.int32)
    section = raw
    if len(raw) and int(raw.max()) >= SHN_LORESERVE:
        section = np.where(raw >= SHN_LORESERVE, raw - 0x10000, raw)
        if len(extended) // 4 >= len(raw):
            numbers = extended[: len(raw) * 4].view(layout.half).astype(np.int64)
            section = np.where(raw == SHN_XINDEX, np.minimum(numbers, 0x7FFFFFFF), section)
    info = table["info"]
    low, high = strings
    return SymbolTable(
        section_index=index,
        offset=offset,
        entry_size=dtype.itemsize,
        path=path,
        data=data,
        strings=strings,
        name=np.minimum(table["name"].astype(np.int64) + low, high),  # one outside of the strings is empty
        address=_words(table["address"]),
        size=np.minimum(table["size"].astype(np.uint64), np.uint64(1 << 62)).view(np.int64),
        type=info & 15,
        binding=info >> 4,
        visibility=table["other"] & 3,
        section=section,
    )


def packed_order(keys: Int) -> Int:
    """A stable argsort of numbers: with the index in their low bits they are sorted by themselves, which takes half the time."""
    if not len(keys):
        return np.zeros(0, np.int64)
    low = int(keys.min())
    bits = len(keys).bit_length()
    if (int(keys.max()) - low).bit_length() + bits > 62:
        return np.argsort(keys, kind="stable")
    packed = keys - low
    packed <<= bits
    packed |= np.arange(len(keys), dtype=np.int64)
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def string_ends(data: Bytes, low: int, start: Int) -> Int:
    """Where the strings that begin at `start`, sorted, distinct and in [low, len(data)], end: at the next zero byte, or with the data.

    Most end just before the next one begins. Zeros are counted, a megabyte at a time, and looked for where there are others: counting
    those of 76 MB takes 3 ms, finding them 50.
    """
    guess = np.append(start[1:] - 1, len(data))[: len(start)]
    is_end = data[guess[:-1]] == 0
    known = guess[:-1][is_end]
    bounds = np.append(np.arange(low, len(data), _STEP), len(data))
    expected = np.diff(np.searchsorted(known, bounds)).tolist()
    others = [np.zeros(0, np.int64)]
    for at, count in zip(bounds[:-1].tolist(), expected, strict=True):
        piece = data[at : at + _STEP]
        if len(piece) - int(np.count_nonzero(piece)) != count:
            others.append(np.flatnonzero(piece == 0) + at)
    more = np.concatenate(others)
    if is_end.all():
        mine = np.searchsorted(start, more, side="right") - 1
        np.minimum.at(guess, mine[mine >= 0], more[mine >= 0])
        return guess
    zeros = np.append(np.sort(np.concatenate([known, more])), len(data))
    return zeros[np.searchsorted(zeros, start)]


def _words(column: Any) -> Int:
    """Unsigned words as int64; addresses of a 64-bit kernel come out negative."""
    return np.asarray(column.astype(np.uint64)).view(np.int64)
