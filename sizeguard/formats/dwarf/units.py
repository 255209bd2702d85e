"""Read the units of .debug_info; read and skip their entries."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

DW_TAG_COMPILE_UNIT, DW_TAG_SUBPROGRAM, DW_TAG_INLINED, DW_TAG_SKELETON = 0x11, 0x2E, 0x1D, 0x4A
DW_TAG_TYPEDEF, DW_AT_DECLARATION, DW_AT_TYPE = 0x16, 0x3C, 0x49
DW_AT_SIBLING, DW_AT_NAME, DW_AT_LOW_PC, DW_AT_HIGH_PC, DW_AT_ABSTRACT_ORIGIN = (
    0x01,
    0x03,
    0x11,
    0x12,
    0x31,
)
DW_AT_SPECIFICATION, DW_AT_RANGES, DW_AT_LINKAGE_NAME, DW_AT_MIPS_LINKAGE_NAME = (
    0x47,
    0x55,
    0x6E,
    0x2007,
)
DW_AT_STR_OFFSETS_BASE, DW_AT_ADDR_BASE, DW_AT_RNGLISTS_BASE = 0x72, 0x73, 0x74
DW_AT_GNU_RANGES_BASE, DW_AT_GNU_ADDR_BASE = 0x2132, 0x2133

# Attributes that give the place and the owner of an entry's code.
WANTED = frozenset(
    {DW_AT_SIBLING, DW_AT_LOW_PC, DW_AT_HIGH_PC, DW_AT_RANGES, DW_AT_ABSTRACT_ORIGIN}
)

# Attributes that name the function of an entry, or refer to an entry that does.
NAMING = frozenset(
    {
        DW_AT_NAME,
        DW_AT_LINKAGE_NAME,
        DW_AT_MIPS_LINKAGE_NAME,
        DW_AT_ABSTRACT_ORIGIN,
        DW_AT_SPECIFICATION,
    }
)

# Types, which contain no code: concrete functions are outside their class.
TYPE_TAGS = frozenset({0x02, 0x04, 0x13, 0x17, 0x15, 0x01, 0x38, 0x42})

FORM_ADDR, FORM_BLOCK2, FORM_BLOCK4, FORM_DATA2, FORM_DATA4, FORM_DATA8, FORM_STRING = (
    0x01,
    0x03,
    0x04,
    0x05,
    0x06,
    0x07,
    0x08,
)
FORM_BLOCK, FORM_BLOCK1, FORM_DATA1, FORM_FLAG, FORM_SDATA, FORM_STRP, FORM_UDATA = (
    0x09,
    0x0A,
    0x0B,
    0x0C,
    0x0D,
    0x0E,
    0x0F,
)
FORM_REF_ADDR, FORM_REF1, FORM_REF2, FORM_REF4, FORM_REF8, FORM_REF_UDATA = (
    0x10,
    0x11,
    0x12,
    0x13,
    0x14,
    0x15,
)
FORM_INDIRECT, FORM_SEC_OFFSET, FORM_EXPRLOC, FORM_FLAG_PRESENT, FORM_STRX, FORM_ADDRX = (
    0x16,
    0x17,
    0x18,
    0x19,
    0x1A,
    0x1B,
)
FORM_REF_SUP4, FORM_STRP_SUP, FORM_DATA16, FORM_LINE_STRP, FORM_REF_SIG8, FORM_IMPLICIT = (
    0x1C,
    0x1D,
    0x1E,
    0x1F,
    0x20,
    0x21,
)
FORM_LOCLISTX, FORM_RNGLISTX, FORM_REF_SUP8 = 0x22, 0x23, 0x24
(
    FORM_STRX1,
    FORM_STRX2,
    FORM_STRX3,
    FORM_STRX4,
    FORM_ADDRX1,
    FORM_ADDRX2,
    FORM_ADDRX3,
    FORM_ADDRX4,
) = range(0x25, 0x2D)
FORM_GNU_ADDR_INDEX, FORM_GNU_STR_INDEX, FORM_GNU_REF_ALT, FORM_GNU_STRP_ALT = (
    0x1F01,
    0x1F02,
    0x1F20,
    0x1F21,
)

# Bytes of a form. ADDRESS and OFFSET are as wide as the unit's; other forms have no fixed size.
ADDRESS, OFFSET = -1, -2
_FIXED = {
    FORM_ADDR: ADDRESS,
    FORM_DATA1: 1,
    FORM_DATA2: 2,
    FORM_DATA4: 4,
    FORM_DATA8: 8,
    FORM_DATA16: 16,
    FORM_FLAG: 1,
    FORM_FLAG_PRESENT: 0,
    FORM_IMPLICIT: 0,
    FORM_STRP: OFFSET,
    FORM_LINE_STRP: OFFSET,
    FORM_STRP_SUP: OFFSET,
    FORM_SEC_OFFSET: OFFSET,
    FORM_GNU_STRP_ALT: OFFSET,
    FORM_GNU_REF_ALT: OFFSET,
    FORM_REF1: 1,
    FORM_REF2: 2,
    FORM_REF4: 4,
    FORM_REF8: 8,
    FORM_REF_SUP4: 4,
    FORM_REF_SUP8: 8,
    FORM_REF_SIG8: 8,
    FORM_STRX1: 1,
    FORM_STRX2: 2,
    FORM_STRX3: 3,
    FORM_STRX4: 4,
    FORM_ADDRX1: 1,
    FORM_ADDRX2: 2,
    FORM_ADDRX3: 3,
    FORM_ADDRX4: 4,
}
_NUMBERS = frozenset(
    {FORM_SDATA, FORM_UDATA, FORM_REF_UDATA, FORM_STRX, FORM_ADDRX, FORM_LOCLISTX, FORM_RNGLISTX}
)
_INDICES = frozenset({FORM_GNU_ADDR_INDEX, FORM_GNU_STR_INDEX})
_BLOCKS = {FORM_BLOCK1: 1, FORM_BLOCK2: 2, FORM_BLOCK4: 4}
# References into another file or to a type.
ELSEWHERE = frozenset({FORM_GNU_REF_ALT, FORM_REF_SUP4, FORM_REF_SUP8, FORM_REF_SIG8})
_UNIT_REFERENCES = frozenset({FORM_REF1, FORM_REF2, FORM_REF4, FORM_REF8, FORM_REF_UDATA})

# Steps that skip an entry: a number of bytes, or one of these.
_LEB, _BLOCK, _TEXT, _INDIRECT = -1, -2, -3, -4

UT_TYPE, UT_SKELETON, UT_SPLIT, UT_SPLIT_TYPE = 2, 4, 5, 6

PLAIN, TYPE, FUNCTION, INLINED = range(4)
_KINDS = {DW_TAG_SUBPROGRAM: FUNCTION, DW_TAG_INLINED: INLINED}


class DwarfError(ValueError):
    """Debug information that contradicts itself; str() gives the place."""


class AttributePlace(NamedTuple):
    """The place of an attribute in an entry, after the entry's code; the same in all entries.

    is_reference: whether it refers to an entry of its own unit
    """

    attribute: int
    form: int
    offset: int
    width: int
    is_reference: bool


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """The shape of an entry. attributes: (attribute, form, constant).

    size:   bytes of the entry; -1 if it varies: then `steps` describes how to skip one
    places: for a fixed size, the attributes in WANTED
    fixed:  attributes before the first one whose size varies
    naming: the attributes in NAMING; None if one of them is not fixed
    """

    tag: int
    kind: int
    has_children: bool
    has_sibling: bool
    attributes: tuple[tuple[int, int, int], ...]
    size: int
    steps: tuple[int, ...]
    places: tuple[AttributePlace, ...]
    fixed: Mapping[int, AttributePlace]
    naming: tuple[AttributePlace, ...] | None

    def has_any(self, attributes: frozenset[int]) -> bool:
        """Check whether entries have one of the attributes."""
        return any(attribute in attributes for attribute, _, _ in self.attributes)


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


def leb(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned LEB128 number; return it and its end."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 70:
            raise DwarfError(f"a number without end at {position}")


def sleb(data: bytes, position: int) -> tuple[int, int]:
    """Read a signed LEB128 number; return it and its end."""
    start = position
    value, position = leb(data, position)
    bits = 7 * (position - start)
    return (value - (1 << bits) if value >> (bits - 1) & 1 else value), position


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
            self._tables[key] = self._read_table(
                offset, address_size, abs(reference) if reference > 0 else 4, abs(reference)
            )
        return self._tables[key]

    def _read_table(
        self, position: int, address_size: int, offset_size: int, reference_size: int
    ) -> dict[int, Abbreviation]:
        """Read a table of abbreviations, by code."""
        data = self.sections.get("abbrev", b"")
        table: dict[int, Abbreviation] = {}
        sizes = (address_size, offset_size, reference_size)
        try:
            while True:
                code, position = leb(data, position)
                if not code:
                    return table
                tag, position = leb(data, position)
                has_children = data[position] != 0
                position += 1
                attributes = []
                while True:
                    attribute, position = leb(data, position)
                    form, position = leb(data, position)
                    constant = 0
                    if form == FORM_IMPLICIT:
                        constant, position = sleb(data, position)
                    if not attribute and not form:
                        break
                    attributes.append((attribute, form, constant))
                table[code] = _abbreviation(tag, has_children, tuple(attributes), sizes)
                self._budget -= 4 + 2 * len(attributes)
                if self._budget < 0:
                    raise DwarfError("abbreviations that overlap")
        except IndexError as error:
            raise DwarfError("abbreviations that are cut") from error

    def skip(self, position: int, steps: tuple[int, ...], unit: Unit) -> int:
        """Skip an entry; return its end."""
        data = self.data
        for step in steps:
            if step >= 0:
                position += step
            elif step == _LEB:
                while data[position] >= 0x80:
                    position += 1
                position += 1
            elif step == _BLOCK:
                size = data[position]
                position += 1
                if size >= 0x80:
                    size, position = leb(data, position - 1)
                position += size
            elif step == _TEXT:
                position = self.text_end(position) + 1
            elif step == _INDIRECT:
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
            raise DwarfError(f"a text without end at {position}")
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
        width = _FIXED.get(form)
        if width is not None:
            if form == FORM_FLAG_PRESENT:
                return 1, position
            if form == FORM_IMPLICIT:
                return constant, position
            size = (
                width if width >= 0 else unit.address_size if width == ADDRESS else unit.offset_size
            )
            number = self.number(data, position, size)
            return (unit.start + number if form in _UNIT_REFERENCES else number), position + size
        if form == FORM_SDATA:
            return sleb(data, position)
        if form in _NUMBERS or form in _INDICES:
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
        if form in _BLOCKS:
            size = self.number(data, position, _BLOCKS[form])
            return position + _BLOCKS[form], position + _BLOCKS[form] + size
        raise DwarfError(f"an unknown form {form:#x} at {position}")


def _more_of_header(unit_type: int, offset_size: int) -> int:
    """Return the bytes after the common header of DWARF 5: ids and references."""
    if unit_type in (UT_SKELETON, UT_SPLIT):
        return 8
    return 8 + offset_size if unit_type in (UT_TYPE, UT_SPLIT_TYPE) else 0


# Units repeat abbreviations: the 5,522 in the 40 tables of run_program contain 858 different ones.
@functools.lru_cache(maxsize=4096)
def _abbreviation(
    tag: int,
    has_children: bool,
    attributes: tuple[tuple[int, int, int], ...],
    sizes: tuple[int, int, int],
) -> Abbreviation:
    """Make an abbreviation.

    attributes: (attribute, form, constant) triples
    sizes:      bytes of an address, of an offset, and of FORM_REF_ADDR
    """
    address_size, offset_size, reference_size = sizes
    widths = {ADDRESS: address_size, OFFSET: offset_size}
    steps: list[int] = []
    places = []
    fixed: dict[int, AttributePlace] = {}
    offset = 0
    for attribute, form, _ in attributes:
        width = _FIXED.get(form, reference_size if form == FORM_REF_ADDR else None)
        if width is not None:
            width = widths.get(width, width)
            place = AttributePlace(attribute, form, offset, width, form in _UNIT_REFERENCES)
            if attribute in WANTED and form != FORM_IMPLICIT:
                places.append(place)
            if len(steps) <= 1 and all(step >= 0 for step in steps) and width:
                fixed[attribute] = place
            offset += width
            if steps and steps[-1] >= 0:
                steps[-1] += width
            else:
                steps.append(width)
        else:
            steps.append(_step(form))
    kind = _KINDS.get(tag, TYPE if tag in TYPE_TAGS else PLAIN)
    # If a wanted constant is in the abbreviation, the entry is read attribute by attribute.
    is_plain = all(step >= 0 for step in steps) and not any(
        a in WANTED and form == FORM_IMPLICIT for a, form, _ in attributes
    )
    size = sum(steps) if is_plain else -1
    has_sibling = any(attribute == DW_AT_SIBLING for attribute, _, _ in attributes)
    naming = [attribute for attribute, _, _ in attributes if attribute in NAMING]
    return Abbreviation(
        tag,
        kind,
        has_children,
        has_sibling,
        attributes,
        size,
        tuple(steps),
        tuple(places),
        fixed,
        tuple(fixed[name] for name in naming) if fixed.keys() >= set(naming) else None,
    )


def _step(form: int) -> int:
    """Return the step that skips an attribute without a fixed size."""
    if form in _NUMBERS or form in _INDICES:
        return _LEB
    if form in (FORM_EXPRLOC, FORM_BLOCK):
        return _BLOCK
    if form in _BLOCKS:
        return -8 - _BLOCKS[form]
    if form == FORM_STRING:
        return _TEXT
    if form == FORM_INDIRECT:
        return _INDIRECT
    raise DwarfError(f"an unknown form {form:#x}")
