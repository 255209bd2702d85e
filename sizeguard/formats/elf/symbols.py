"""Read symbol tables as columns."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.sort import packed_order
from sizeguard.columns.texts import Bytes, Int, Int32, Texts
from sizeguard.formats.elf.layout import SHN_LORESERVE, SHN_XINDEX, STT_FILE, STT_SECTION, Layout

# Names may share suffixes. A table whose names are many times as long as its strings is designed to
# exhaust memory.
MAX_SHARING = 16
FREE_BYTES = 1 << 20

_CODE = compiled_beside(__file__)


class DistinctStrings(NamedTuple):
    """Strings of a symbol table, as places in the file. which: the string of each symbol."""

    start: Int
    end: Int
    which: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol.

    section: an index; 0 if undefined, negative if reserved, as in SymbolTable.
    """

    name: str
    address: int
    size: int
    type: int
    binding: int
    section: int


@dataclass(frozen=True, eq=False)
class SymbolTable:
    """All symbols of a table in order, as columns.

    Entry i is at [offset + i * entry_size, …) of the file.

    name:    offset in the file of its name
    strings: the bytes [start, end) of the string table
    address: signed (two's complement); in a relocatable object an offset in its section
    section: an index into the file's sections. SHN_ABS, SHN_COMMON … are negative numbers (SHN_ABS
             - 0x10000), which are not valid indices even with more than 65,279 sections
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
        """Return the number of symbols."""
        return len(self.address)

    @cached_property
    def names(self) -> Texts:
        """The names of all symbols; their buffer is the whole file."""
        strings = self.distinct_names
        return Texts(self.data, strings.start[strings.which], strings.end[strings.which])

    @cached_property
    def distinct_names(self) -> DistinctStrings:
        """The strings that symbols name, without duplicates, in the file's order."""
        low, high = self.strings
        found = distinct_strings(self.data[:high], self.name)
        start, end = found.start, found.end
        if int((end - start).sum()) > MAX_SHARING * (high - low) + FREE_BYTES:
            raise InputError(
                f"{self.path}: a damaged ELF file: symbols share names of a string table without"
                " ends"
            )
        return found

    def objects(self) -> tuple[Symbol, ...]:
        """Return the symbols as objects."""
        return self._objects(np.arange(len(self)), self._texts(np.arange(len(self))))

    @cached_property
    def _defined(self) -> Int:
        """Rows of definitions; names of source files and of sections define nothing."""
        return np.flatnonzero((self.section != 0) & ~np.isin(self.type, (STT_FILE, STT_SECTION)))

    def defined_names(self) -> list[str]:
        """Return the names of the definitions; some are empty."""
        return self._texts(self._defined)

    def defined(self, index: int) -> Symbol:
        """Return the definition with the name at an index in `defined_names`."""
        row = self._defined[index : index + 1]
        return self._objects(row, [self.names[int(row[0])]])[0]

    def _texts(self, rows: Int) -> list[str]:
        """Decode names; those that symbols share are decoded once."""
        strings = self.distinct_names
        which, used = np.unique(strings.which[rows], return_inverse=True)[::-1]
        raw = Texts(self.data, strings.start[used], strings.end[used]).all_raw()
        texts = [text.decode("utf-8", "backslashreplace") for text in raw]
        return [texts[i] for i in which.tolist()]

    def _objects(self, rows: Int, names: list[str]) -> tuple[Symbol, ...]:
        address = self.address[rows].view(np.uint64)
        columns = (
            address,
            self.size[rows],
            self.type[rows],
            self.binding[rows],
            self.section[rows],
        )
        return tuple(
            Symbol(*row)
            for row in zip(names, *(column.tolist() for column in columns), strict=True)
        )


def read_symbols(
    path: object,
    data: Bytes,
    layout: Layout,
    place: tuple[int, int, int],
    strings: tuple[int, int],
    extended: Bytes,
) -> SymbolTable:
    """Read the table at place (section index, offset, size) with names in strings [start, end).

    All of them are inside the file.

    extended: the content of its SHT_SYMTAB_SHNDX section; empty if there is none.
    """
    index, offset, size = place
    dtype = layout.symbol
    if size % dtype.itemsize:
        raise InputError(
            f"{path}: a damaged ELF file: a symbol table of {size} bytes, not a multiple of"
            f" {dtype.itemsize}"
        )
    table: Any = data[offset : offset + size].view(dtype)
    info = table["info"]
    low, high = strings
    return SymbolTable(
        section_index=index,
        offset=offset,
        entry_size=dtype.itemsize,
        path=path,
        data=data,
        strings=strings,
        # A name outside the strings is empty.
        name=_at_most(table["name"].astype(np.int64) + low, high),
        address=_words(table["address"]),
        size=_at_most(table["size"].astype(np.uint64), np.uint64(1 << 62)).view(np.int64),
        type=info & 15,
        binding=info >> 4,
        visibility=table["other"] & 3,
        section=_sections(table["section"].astype(np.int32), extended, layout),
    )


def _sections(raw: Int32, extended: Bytes, layout: Layout) -> Int32:
    """Return the section of each symbol: negative if reserved, large ones from `extended`."""
    if not len(raw) or int(raw.max()) < SHN_LORESERVE:
        return raw
    section = np.where(raw >= SHN_LORESERVE, raw - 0x10000, raw)
    if len(extended) // 4 >= len(raw):
        numbers = extended[: len(raw) * 4].view(layout.half).astype(np.int64)
        section = np.where(raw == SHN_XINDEX, np.minimum(numbers, 0x7FFFFFFF), section)
    return section


def distinct_strings(data: Bytes, name: Int) -> DistinctStrings:
    """Return the strings at the offsets in `name`, which end at a NUL or with the data."""
    order = packed_order(name)
    start, end = np.empty(len(name), np.int64), np.empty(len(name), np.int64)
    which = np.empty(len(name), np.int32)
    count = _CODE.call(
        "distinct_strings", data, len(data), name, order, len(name), start, end, which
    )
    return DistinctStrings(start[:count], end[:count], which)


def _at_most(column: npt.NDArray[Any], limit: int | np.uint64) -> npt.NDArray[Any]:
    """Replace larger numbers by the limit, in place: fresh memory takes longer than the numbers."""
    np.minimum(column, limit, out=column)
    return column


def _words(column: Any) -> Int:
    """Convert unsigned words to int64; addresses of a 64-bit kernel become negative."""
    return np.asarray(column.astype(np.uint64)).view(np.int64)
