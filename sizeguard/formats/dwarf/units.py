"""Read the units of .debug_info; read and skip their entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.dwarf.abbreviations import (
    ADDRESS,
    BLOCK_STEP,
    BLOCKS,
    FIXED_SIZES,
    INDICES,
    INDIRECT_STEP,
    LEB_STEP,
    NUMBERS,
    TEXT_STEP,
    UNIT_REFERENCES,
    Abbreviation,
    AttributePlace,
    DwarfError,
    leb,
    read_table,
    sleb,
)
from sizeguard.formats.dwarf.dwarf_constants import (
    FORM_BLOCK,
    FORM_EXPRLOC,
    FORM_FLAG_PRESENT,
    FORM_IMPLICIT,
    FORM_INDIRECT,
    FORM_REF_ADDR,
    FORM_REF_UDATA,
    FORM_SDATA,
    FORM_STRING,
    UT_SKELETON,
    UT_SPLIT,
    UT_SPLIT_TYPE,
    UT_TYPE,
)


@dataclass(slots=True)
class Unit:
    """A unit of .debug_info, [start, end); its first entry is at `entries`."""

    start: int
    entries: int
    end: int
    version: int
    type: int
    address_size: int
    offset_size: int
    abbreviations: dict[int, Abbreviation]
    low_pc: int = 0
    str_offsets_base: int = 0
    addr_base: int = 0
    ranges_base: int = 0


class Info:
    """.debug_info, and the sections that its entries refer to."""

    def __init__(self, sections: dict[str, bytes], order: Literal["big", "little"]) -> None:
        """Read the headers of all units. Raises DwarfError for damaged ones."""
        self.data = sections["info"]
        self.sections = sections
        self.order = order
        self._tables: dict[tuple[int, int, int], dict[int, Abbreviation]] = {}
        # Tables follow each other. A file whose units read the same bytes again and again is
        # designed to exhaust time.
        self._budget = 4 * len(sections.get("abbrev", b"")) + 4096
        self.units = self._units()

    def number(self, data: bytes, position: int, size: int) -> int:
        """Read a number of `size` bytes."""
        if position < 0 or position + size > len(data):
            raise DwarfError(f"a place outside its section: {position}")
        return int.from_bytes(data[position : position + size], self.order)

    def _units(self) -> list[Unit]:
        """Read the headers of all units."""
        units: list[Unit] = []
        position = 0
        while position < len(self.data):
            units.append(self._unit(position))
            position = units[-1].end
        return units

    def _unit(self, start: int) -> Unit:
        """Read the header of the unit at `start`, and its abbreviations."""
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
        table = self._table(offset, address_size, offset_size if version > 2 else -address_size)
        return Unit(start, position, end, version, unit_type, address_size, offset_size, table)

    def _table(self, offset: int, address_size: int, reference: int) -> dict[int, Abbreviation]:
        """Return the abbreviations at an offset.

        reference: bytes of FORM_REF_ADDR; negative for DWARF 2, where it is as wide as an address.
        """
        key = (offset, address_size, reference)
        if key not in self._tables:
            sizes = (address_size, abs(reference) if reference > 0 else 4, abs(reference))
            abbreviations = self.sections.get("abbrev", b"")
            self._tables[key], self._budget = read_table(abbreviations, offset, sizes, self._budget)
        return self._tables[key]

    def skip(self, position: int, steps: tuple[int, ...], unit: Unit) -> int:
        """Skip an entry; return its end."""
        data = self.data
        for step in steps:
            if step >= 0:
                position += step
            elif step == LEB_STEP:
                while data[position] >= 0x80:
                    position += 1
                position += 1
            elif step == BLOCK_STEP:
                size = data[position]
                position += 1
                if size >= 0x80:
                    size, position = leb(data, position - 1)
                position += size
            elif step == TEXT_STEP:
                position = self.text_end(position) + 1
            elif step == INDIRECT_STEP:
                form, position = leb(data, position)
                if form in (FORM_INDIRECT, FORM_IMPLICIT):
                    raise DwarfError(f"an indirect form {form} at {position}")
                position = self.value(unit, form, 0, position)[1]
            else:
                size = self.number(data, position, -step - 8)
                position += -step - 8 + size
        return position

    def text_end(self, position: int) -> int:
        """Return the offset of the NUL that ends the string at `position`."""
        end = self.data.find(0, position)
        if end < 0:
            raise DwarfError(f"an unterminated string at {position}")
        return end

    def placed(
        self, unit: Unit, places: Sequence[AttributePlace], position: int
    ) -> list[tuple[int, int, int]]:
        """Return attribute, form and value of fixed attributes of the entry after a code."""
        data, order, start = self.data, self.order, unit.start
        found = []
        for attribute, form, offset, width, is_reference in places:
            low = position + offset
            if low + width > unit.end:
                raise DwarfError(f"the unit at {start} is cut")
            value = int.from_bytes(data[low : low + width], order)
            found.append((attribute, form, value + start if is_reference else value))
        return found

    def value(self, unit: Unit, form: int, constant: int, position: int) -> tuple[int, int]:
        """Read an attribute; return its value and its end.

        The value of a string or block is its offset, and of a reference an offset in the section.
        """
        data = self.data
        width = FIXED_SIZES.get(form)
        if width is not None:
            if form == FORM_FLAG_PRESENT:
                return 1, position
            if form == FORM_IMPLICIT:
                return constant, position
            size = (
                width if width >= 0 else unit.address_size if width == ADDRESS else unit.offset_size
            )
            number = self.number(data, position, size)
            return (unit.start + number if form in UNIT_REFERENCES else number), position + size
        if form == FORM_SDATA:
            return sleb(data, position)
        if form in NUMBERS or form in INDICES:
            number, position = leb(data, position)
            return (unit.start + number if form == FORM_REF_UDATA else number), position
        if form == FORM_REF_ADDR:
            size = unit.address_size if unit.version == 2 else unit.offset_size
            return self.number(data, position, size), position + size
        if form == FORM_STRING:
            return position, self.text_end(position) + 1
        if form in (FORM_EXPRLOC, FORM_BLOCK):
            size, start = leb(data, position)
            return start, start + size
        if form in BLOCKS:
            size = self.number(data, position, BLOCKS[form])
            return position + BLOCKS[form], position + BLOCKS[form] + size
        raise DwarfError(f"an unknown form {form:#x} at {position}")


def _more_of_header(unit_type: int, offset_size: int) -> int:
    """Return the bytes after the common header of DWARF 5: ids and references."""
    if unit_type in (UT_SKELETON, UT_SPLIT):
        return 8
    return 8 + offset_size if unit_type in (UT_TYPE, UT_SPLIT_TYPE) else 0
