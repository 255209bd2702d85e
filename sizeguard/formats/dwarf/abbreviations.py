"""Read tables of abbreviations, which give the shapes of entries."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import NamedTuple

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.dwarf.dwarf_constants import (
    DW_AT_LOW_PC,
    DW_AT_RANGES,
    DW_AT_SIBLING,
    DW_AT_TYPE,
    DW_TAG_INLINED,
    DW_TAG_SUBPROGRAM,
    FORM_ADDR,
    FORM_ADDRX,
    FORM_ADDRX1,
    FORM_ADDRX2,
    FORM_ADDRX3,
    FORM_ADDRX4,
    FORM_BLOCK,
    FORM_BLOCK1,
    FORM_BLOCK2,
    FORM_BLOCK4,
    FORM_DATA1,
    FORM_DATA2,
    FORM_DATA4,
    FORM_DATA8,
    FORM_DATA16,
    FORM_EXPRLOC,
    FORM_FLAG,
    FORM_FLAG_PRESENT,
    FORM_GNU_ADDR_INDEX,
    FORM_GNU_REF_ALT,
    FORM_GNU_STR_INDEX,
    FORM_GNU_STRP_ALT,
    FORM_IMPLICIT,
    FORM_INDIRECT,
    FORM_LINE_STRP,
    FORM_LOCLISTX,
    FORM_REF1,
    FORM_REF2,
    FORM_REF4,
    FORM_REF8,
    FORM_REF_ADDR,
    FORM_REF_SIG8,
    FORM_REF_SUP4,
    FORM_REF_SUP8,
    FORM_REF_UDATA,
    FORM_RNGLISTX,
    FORM_SDATA,
    FORM_SEC_OFFSET,
    FORM_STRING,
    FORM_STRP,
    FORM_STRP_SUP,
    FORM_STRX,
    FORM_STRX1,
    FORM_STRX2,
    FORM_STRX3,
    FORM_STRX4,
    FORM_UDATA,
    NAMING,
    TYPE_TAGS,
    WANTED,
)

# Bytes of a form. ADDRESS and OFFSET are as wide as the unit's; other forms have no fixed size.
ADDRESS, OFFSET = -1, -2
FIXED_SIZES = {
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
NUMBERS = frozenset(
    {FORM_SDATA, FORM_UDATA, FORM_REF_UDATA, FORM_STRX, FORM_ADDRX, FORM_LOCLISTX, FORM_RNGLISTX}
)
INDICES = frozenset({FORM_GNU_ADDR_INDEX, FORM_GNU_STR_INDEX})
BLOCKS = {FORM_BLOCK1: 1, FORM_BLOCK2: 2, FORM_BLOCK4: 4}
UNIT_REFERENCES = frozenset({FORM_REF1, FORM_REF2, FORM_REF4, FORM_REF8, FORM_REF_UDATA})

# Steps that skip an entry: a number of bytes, or one of these.
LEB_STEP, BLOCK_STEP, TEXT_STEP, INDIRECT_STEP = -1, -2, -3, -4

PLAIN, TYPE, FUNCTION, INLINED = range(4)
_KINDS = {DW_TAG_SUBPROGRAM: FUNCTION, DW_TAG_INLINED: INLINED}


_PLACED = frozenset({DW_AT_LOW_PC, DW_AT_RANGES})
# Attributes whose places readers ask for.
_LOOKED_UP = WANTED | NAMING | {DW_AT_SIBLING, DW_AT_TYPE}


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
    fixed:  attributes before the first one whose size varies, of those that readers ask for
    naming: the attributes in NAMING; None if one of them is not fixed
    is_placed: whether entries have an address of code
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
    is_placed: bool

    def has_any(self, attributes: frozenset[int]) -> bool:
        """Check whether entries have one of the attributes."""
        return any(attribute in attributes for attribute, _, _ in self.attributes)


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


# The declaration of an abbreviation after its code: tag, whether it has children, attributes and
# forms, two zeros. A constant follows only DW_FORM_implicit_const. Numbers with needless bytes do
# not match; they are read one by one.
_NUMBER = rb"[\x80-\xff]*+[\x01-\x7f]"
_OTHER_FORM = rb"(?:[\x80-\xff]++[\x01-\x7f]|[\x01-\x20\x22-\x7f])"
_DECLARATION = re.compile(
    rb"%b.(?:%b(?:%b|\x21[\x80-\xff]*+[\x00-\x7f]))*+\x00\x00" % (_NUMBER, _NUMBER, _OTHER_FORM),
    re.DOTALL,
)


def read_table(
    data: bytes, position: int, sizes: tuple[int, int, int], budget: int
) -> tuple[dict[int, Abbreviation], int]:
    """Read a table of abbreviations, by code.

    sizes:  bytes of an address, of an offset, and of FORM_REF_ADDR
    budget: pairs of bytes that may still be read; returned, too, less what this table took

    Raises DwarfError for a damaged table, and if the budget is exhausted.
    """
    table: dict[int, Abbreviation] = {}
    try:
        while True:
            code, position = leb(data, position)
            if not code:
                return table, budget
            found = _DECLARATION.match(data, position)
            if found is None:
                shape, position = _declared(data, position, sizes)
            else:
                shape, _ = _known_declared(found[0], 0, sizes)
                position = found.end()
            table[code] = shape
            budget -= 4 + 2 * len(shape.attributes)
            if budget < 0:
                raise DwarfError("abbreviations that overlap")
    except IndexError as error:
        raise DwarfError("abbreviations that are cut") from error


def _declared(data: bytes, position: int, sizes: tuple[int, int, int]) -> tuple[Abbreviation, int]:
    """Read the declaration of an abbreviation after its code; return its end, too."""
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
    return _abbreviation(tag, has_children, tuple(attributes), sizes), position


# Units repeat abbreviations: the 5,522 in the 40 tables of run_program contain 858 different ones.
_known_declared = functools.lru_cache(maxsize=4096)(_declared)


# More than 40 lines: one pass, in which each attribute extends all columns.
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
    widths = _widths(*sizes)
    steps: list[int] = []
    places = []
    fixed: dict[int, AttributePlace] = {}
    offset = 0
    is_first = is_plain = True
    for attribute, form, _ in attributes:
        width = widths.get(form)
        if width is None:
            steps.append(_step(form))
            is_first = is_plain = False
            continue
        if attribute in _LOOKED_UP:
            place = AttributePlace(attribute, form, offset, width, form in UNIT_REFERENCES)
            if attribute in WANTED and form != FORM_IMPLICIT:
                places.append(place)
            # If a wanted constant is in the abbreviation, the entry is read attribute by attribute.
            is_plain = is_plain and not (attribute in WANTED and form == FORM_IMPLICIT)
            if is_first and width:
                fixed[attribute] = place
        offset += width
        if steps and steps[-1] >= 0:
            steps[-1] += width
        else:
            steps.append(width)
    kind = _KINDS.get(tag, TYPE if tag in TYPE_TAGS else PLAIN)
    there = {attribute for attribute, _, _ in attributes}
    naming = [attribute for attribute, _, _ in attributes if attribute in NAMING]
    return Abbreviation(
        tag,
        kind,
        has_children,
        DW_AT_SIBLING in there,
        attributes,
        sum(steps) if is_plain else -1,
        tuple(steps),
        tuple(places),
        fixed,
        tuple(fixed[name] for name in naming) if fixed.keys() >= set(naming) else None,
        not _PLACED.isdisjoint(there),
    )


@functools.cache
def _widths(address_size: int, offset_size: int, reference_size: int) -> Mapping[int, int]:
    """Return the bytes of each form with a fixed size."""
    of_unit = {ADDRESS: address_size, OFFSET: offset_size}
    widths = {form: of_unit.get(width, width) for form, width in FIXED_SIZES.items()}
    return {**widths, FORM_REF_ADDR: reference_size}


def _step(form: int) -> int:
    """Return the step that skips an attribute without a fixed size."""
    if form in NUMBERS or form in INDICES:
        return LEB_STEP
    if form in (FORM_EXPRLOC, FORM_BLOCK):
        return BLOCK_STEP
    if form in BLOCKS:
        return -8 - BLOCKS[form]
    if form == FORM_STRING:
        return TEXT_STEP
    if form == FORM_INDIRECT:
        return INDIRECT_STEP
    raise DwarfError(f"an unknown form {form:#x}")
