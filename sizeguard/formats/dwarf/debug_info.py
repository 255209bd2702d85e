"""Read the headers of .debug_info's units, and hold what C code needs to read their entries."""

from __future__ import annotations

import sys
from typing import Literal

import numpy as np
import numpy.typing as npt

from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int
from sizeguard.formats.dwarf.dwarf_constants import (
    DEEPEST,
    UT_SKELETON,
    UT_SPLIT,
    UT_SPLIT_TYPE,
    UT_TYPE,
)

# Rows of Info.units, Info.shapes and Info.attributes, as in debug_info.h
UNIT = np.dtype(
    [
        (name, np.int64)
        for name in (
            "start",
            "entries",
            "end",
            "version",
            "type",
            "address_size",
            "offset_size",
            "table",
            "children",
            "low_pc",
            "str_offsets_base",
            "addr_base",
            "ranges_base",
        )
    ]
)
SHAPE = np.dtype(
    [(name, np.int64) for name in ("code", "order", "tag", "has_children", "first", "count")]
)
ATTRIBUTE = np.dtype([("attribute", np.int32), ("form", np.int32), ("constant", np.int64)])
# Sections in the order of Dwarf in debug_info.h
_SECTIONS = ("info", "abbrev", "str", "line_str", "str_offsets", "addr", "ranges", "rnglists")
# Sections of texts in the order of units.c; names in a file that dwz shares are in none.
_TEXTS = ("", "str", "line_str", "info")

# What C code finds wrong, by its number; {0} is a place or a number.
_WRONG = (
    "",
    "the unit at {0} is cut",
    "entries are nested without end at {0}",
    f"functions are nested more than {DEEPEST} deep at {{0}}",
    "a number without end at {0}",
    "an unknown form {0:#x}",
    "an unterminated string at {0}",
    "a reference to {0}, where there is no entry",
    "a name outside its section: {0}",
    "names that overlap",
    "a place outside its section: {0}",
    "the range list at {0} is cut",
    "range lists without end at {0}",
    "an unknown kind of range {0}",
    "abbreviations that are cut",
    "abbreviations that overlap",
    "more attributes or scopes than real entries have at {0}",
)

_CODE = compiled_beside(__file__)


class DwarfError(ValueError):
    """Debug information that contradicts itself; str() gives the place."""


class Info:
    """.debug_info, and the sections that its entries refer to.

    units:      rows of UNIT; C code sets the columns from `children` on when it reads a unit
    tables:     the first shape of each table of abbreviations, and the number of its shapes
    shapes:     rows of SHAPE, abbreviations, sorted by code in each table
    attributes: rows of ATTRIBUTE, those of a shape from its `first` on
    """

    def __init__(self, sections: dict[str, bytes], order: Literal["big", "little"]) -> None:
        """Read the headers of all units, and their abbreviations.

        Raises DwarfError for damaged ones.
        """
        self.data = sections["info"]
        self.sections = sections
        self.order = order
        self.units = np.array(self._units(), UNIT)
        self._contents = [np.frombuffer(sections.get(name, b""), np.uint8) for name in _SECTIONS]
        offsets = distinct(np.ascontiguousarray(self.units["table"]))
        self.units["table"] = np.searchsorted(offsets, self.units["table"])
        self.tables = np.zeros((len(offsets), 2), np.int64)
        self.shapes, self.attributes = np.zeros(0, SHAPE), np.zeros(0, ATTRIBUTE)
        self._fields = self._given_to_c()
        self._read_tables(offsets)

    def call(self, name: str, *arguments: npt.NDArray[np.generic] | int) -> int:
        """Call a C function that reads entries.

        Raises DwarfError for damaged ones.
        """
        result = _CODE.call(name, self._fields, *arguments)
        if result < 0:
            raise DwarfError(_WRONG[-result].format(int(self._fields[-1])))
        return result

    def text(self, section: int, start: int, end: int) -> bytes:
        """Return a text that C code found; section: a number of _TEXTS."""
        name = _TEXTS[section]
        return self.sections[name][start:end] if name else b""

    def text_of(self, unit: int, form: int, value: int) -> str:
        """Return the text that an attribute of a unit refers to.

        Raises DwarfError if it is outside its section.
        """
        place = np.zeros(3, np.int64)
        self.call("text_of", unit, form, value, place)
        return self.text(*place.tolist()).decode("utf-8", "backslashreplace")

    def number(self, data: bytes, position: int, size: int) -> int:
        """Read a number of `size` bytes."""
        if position < 0 or position + size > len(data):
            raise DwarfError(f"a place outside its section: {position}")
        return int.from_bytes(data[position : position + size], self.order)

    def rows(
        self, name: str, width: int, room: int, *arguments: npt.NDArray[np.generic] | int
    ) -> Int:
        """Return the rows that a C function writes, which takes an array and its room last.

        width: numbers in a row; room: rows to begin with
        """
        while True:
            rows = np.empty((room, width), np.int64)
            count = self.call(name, *arguments, rows, room)
            if count <= room:
                return rows[:count]
            room = count

    def extent(self, unit: int) -> tuple[int, int]:
        """Return the places of .debug_info where a unit begins and ends."""
        row = self.units[unit]
        return int(row["start"]), int(row["end"])

    def units_except(self, *types: int) -> Int:
        """Return the indices of the units that are of none of the types."""
        return np.flatnonzero(~np.isin(self.units["type"], types))

    def code_units(self) -> Int:
        """Return the indices of the units that describe code in this file."""
        return self.units_except(UT_TYPE, UT_SPLIT, UT_SPLIT_TYPE)

    def _given_to_c(self) -> Int:
        """Return Dwarf of debug_info.h."""
        fields: list[int] = []
        for content in self._contents:
            fields += [_address(content), len(content)]
        size = dict(zip(_SECTIONS, fields[1::2], strict=True))
        budgets = (
            4 * (size["ranges"] + size["rnglists"]) + 4096,
            16 * (size["info"] + size["str"]) + (1 << 20),
            64 * size["info"] + (1 << 20),
        )
        return np.array(
            [
                *fields,
                self.order != sys.byteorder,
                _address(self.units),
                len(self.units),
                *map(_address, (self.tables, self.shapes, self.attributes)),
                *budgets,
                0,
            ],
            np.int64,
        )

    def _read_tables(self, offsets: Int) -> None:
        """Read the tables of abbreviations."""
        counts = np.zeros(2, np.int64)
        self.call("read_tables", offsets, len(offsets), 0, 0, counts)
        shapes, attributes = counts.tolist()
        self.shapes, self.attributes = np.zeros(shapes, SHAPE), np.zeros(attributes, ATTRIBUTE)
        self._fields = self._given_to_c()
        self.call("read_tables", offsets, len(offsets), shapes, attributes, counts)

    def _units(self) -> list[tuple[int, ...]]:
        """Read the headers of all units."""
        units: list[tuple[int, ...]] = []
        position = 0
        while position < len(self.data):
            units.append(self._unit(position))
            position = units[-1][2]
        return units

    def _unit(self, start: int) -> tuple[int, ...]:
        """Read the header of the unit at `start`; `table` is the offset of its abbreviations."""
        position, offset_size = start, 4
        length = self.number(self.data, position, 4)
        position += 4
        if length == 0xFFFFFFFF:
            offset_size = 8
            length = self.number(self.data, position, 8)
            position += 8
        end = position + length
        if end > len(self.data):
            raise DwarfError(f"the unit at {start} is cut")
        version = self.number(self.data, position, 2)
        position += 2
        if not 2 <= version <= 5:
            raise DwarfError(f"the unit at {start} is of DWARF {version}")
        unit_type = 1
        if version == 5:
            unit_type = self.number(self.data, position, 1)
            address_size = self.number(self.data, position + 1, 1)
            offset = self.number(self.data, position + 2, offset_size)
            position += 2 + offset_size + _more_of_header(unit_type, offset_size)
        else:
            offset = self.number(self.data, position, offset_size)
            address_size = self.number(self.data, position + offset_size, 1)
            position += offset_size + 1
        if address_size not in (2, 4, 8) or position > end:
            raise DwarfError(f"the header of the unit at {start}")
        table = min(offset, len(self.sections.get("abbrev", b"")))  # behind the end it is cut
        return start, position, end, version, unit_type, address_size, offset_size, table, *[0] * 5


def _address(array: npt.NDArray[np.generic]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _more_of_header(unit_type: int, offset_size: int) -> int:
    """Return the bytes after the common header of DWARF 5: ids and references."""
    if unit_type in (UT_SKELETON, UT_SPLIT):
        return 8
    return 8 + offset_size if unit_type in (UT_TYPE, UT_SPLIT_TYPE) else 0
