"""Read the tree of functions and the functions inlined into them, as columns."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.dwarf.abbreviations import (
    FUNCTION,
    INLINED,
    TYPE,
    Abbreviation,
    AttributePlace,
    DwarfError,
    leb,
)
from sizeguard.formats.dwarf.dwarf_constants import (
    DW_AT_ABSTRACT_ORIGIN,
    DW_AT_ADDR_BASE,
    DW_AT_GNU_ADDR_BASE,
    DW_AT_HIGH_PC,
    DW_AT_LOW_PC,
    DW_AT_RANGES,
    DW_AT_RNGLISTS_BASE,
    DW_AT_SIBLING,
    DW_AT_STR_OFFSETS_BASE,
    ELSEWHERE,
    FORM_ADDR,
    UT_SPLIT,
    UT_SPLIT_TYPE,
    UT_TYPE,
    WANTED,
)
from sizeguard.formats.dwarf.ranges import AddressRanges, index_forms
from sizeguard.formats.dwarf.units import Info, Unit

NONE = -1
TOP = -2  # outside all functions, where types contain no code
DEEPEST = 512  # nesting of functions; real files stay below 100

_OF_UNIT = frozenset(
    {
        DW_AT_LOW_PC,
        DW_AT_STR_OFFSETS_BASE,
        DW_AT_ADDR_BASE,
        DW_AT_GNU_ADDR_BASE,
        DW_AT_RNGLISTS_BASE,
    }
)


@dataclass(slots=True)
class InlineTree:
    """Functions, and the functions inlined into them.

    Node n is inlined into node parent[n], or a function if that is NONE. depth: 0 for a function;
    entry: the entry with the node's name.

    Row i of (low, high, node) is a half-open range of addresses of node[i].
    """

    parent: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    entry: list[int] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    node: list[int] = field(default_factory=list)

    def add(self, parent: int, entry: int, ranges: Sequence[tuple[int, int]]) -> int:
        """Add a node and return its number. Raises DwarfError if it is nested too deeply."""
        number = len(self.parent)
        depth = self.depth[parent] + 1 if parent != NONE else 0
        if depth > DEEPEST:
            raise DwarfError(f"functions are nested more than {DEEPEST} deep at {entry}")
        self.parent.append(parent)
        self.depth.append(depth)
        self.entry.append(entry)
        for low, high in ranges:
            self.low.append(low)
            self.high.append(high)
            self.node.append(number)
        return number


class _Code:
    """The code sections, ascending and disjoint; most addresses are in the same one."""

    def __init__(self, sections: Sequence[tuple[int, int]]) -> None:
        self.sections = sections
        self.starts = [start for start, _ in sections]
        self.start = self.end = 0  # of the last section found

    def inside(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the ranges that begin in a code section, cut at its end.

        A removed function, which is at 0, may be longer than firmware's first section of code.
        """
        found = []
        for low, high in pairs:
            if not self.start <= low < self.end:
                which = bisect_right(self.starts, low) - 1
                if which < 0 or low >= self.sections[which][1]:
                    continue
                self.start, self.end = self.sections[which]
            if not low and high > self.end:
                continue
            found.append((low, min(high, self.end)))
        return found


def read_tree(info: Info, sections: Sequence[tuple[int, int]]) -> InlineTree:
    """Read all functions with an address in code.

    sections: [start, end) of the code sections, ascending and disjoint. Functions that the linker
    removed are at 0 or at a marker, outside all code.
    """
    tree = InlineTree()
    ranges, code = AddressRanges(info), _Code(sections)
    # Units may share a table: after dwz, thousands do.
    shapes: dict[int, _TreeShapes] = {}
    for unit in info.units:
        if unit.type in (UT_TYPE, UT_SPLIT_TYPE, UT_SPLIT):
            continue
        table = unit.abbreviations
        try:
            of_table = shapes.get(id(table)) or shapes.setdefault(
                id(table), _TreeShapes(info, table)
            )
            _walk(info, unit, (ranges, code), of_table, tree)
        except (IndexError, KeyError, struct.error) as error:
            raise DwarfError(f"the unit at {unit.start} is cut") from error
    return tree


def read_unit(info: Info, unit: Unit) -> int:
    """Read the attributes of the unit's own entry that its other entries need.

    Returns the offset of its children.
    """
    position = unit.entries
    code, position = leb(info.data, position)
    if not code:
        return unit.end
    found: dict[int, tuple[int, int]] = {}
    for attribute, form, constant in unit.abbreviations[code].attributes:
        value, position = info.value(unit, form, constant, position)
        if attribute in _OF_UNIT:
            found[attribute] = (value, form)
    unit.addr_base = found.get(DW_AT_ADDR_BASE, found.get(DW_AT_GNU_ADDR_BASE, (0, 0)))[0]
    unit.str_offsets_base = found.get(DW_AT_STR_OFFSETS_BASE, (0, 0))[0]
    unit.ranges_base = found.get(DW_AT_RNGLISTS_BASE, (0, 0))[0]
    if DW_AT_LOW_PC in found:
        value, form = found[DW_AT_LOW_PC]
        unit.low_pc = value if form == FORM_ADDR else AddressRanges(info).address(unit, value)
    return position if unit.abbreviations[code].has_children else unit.end


def _attributes(
    info: Info, unit: Unit, shape: Abbreviation, position: int
) -> tuple[dict[int, tuple[int, int]], int]:
    """Read the wanted attributes of an entry, as attribute → (value, form), and its end."""
    if shape.size >= 0:
        order, data = info.order, info.data
        return {
            attribute: (
                int.from_bytes(data[position + offset : position + offset + width], order)
                + (unit.start if is_reference else 0),
                form,
            )
            for attribute, form, offset, width, is_reference in shape.places
        }, position + shape.size
    found: dict[int, tuple[int, int]] = {}
    for attribute, form, constant in shape.attributes:
        value, position = info.value(unit, form, constant, position)
        if attribute in WANTED:
            found[attribute] = (value, form)
    return found, position


def sibling_of(info: Info, unit: Unit, shape: Abbreviation, position: int) -> int:
    """Return the end of an entry with everything in it; 0 if the entry does not state it."""
    place = shape.fixed.get(DW_AT_SIBLING)
    if place is None:
        return _attributes(info, unit, shape, position)[0].get(DW_AT_SIBLING, (0, 0))[0]
    low, width = position + place.offset, place.width
    if low + width > unit.end:
        raise DwarfError(f"the unit at {unit.start} is cut")
    value = int.from_bytes(info.data[low : low + width], info.order)
    return value + unit.start if place.is_reference else value


class _Reader(NamedTuple):
    """Read the attributes of an entry with code at once.

    values: returns the wanted attributes of the entry at an offset
    low:    index of the first address, or of the range list; high: of the size; NONE for a list
    form:   of the range list
    origin: index of the reference to the function that is inlined; NONE if its own entry names it
    is_of_unit: whether the reference counts from the unit's start
    """

    values: Callable[[bytes, int], tuple[int, ...]]
    low: int
    high: int
    form: int
    origin: int
    is_of_unit: bool


_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}


def _reader(info: Info, shape: Abbreviation) -> _Reader | None:
    """Return the reader of a shape; None if an attribute is not fixed, or for rare forms."""
    places = shape.places if shape.size >= 0 else _fixed_places(shape)
    if places is None or any(place.width not in _FORMATS for place in places):
        return None
    format_, end = ">" if info.order == "big" else "<", 0
    for place in places:
        format_ += f"{place.offset - end}x{_FORMATS[place.width]}"
        end = place.offset + place.width
    at = {place.attribute: i for i, place in enumerate(places)}
    if DW_AT_RANGES in at:
        low, high = at[DW_AT_RANGES], NONE
    elif DW_AT_LOW_PC in at and DW_AT_HIGH_PC in at:
        low, high = at[DW_AT_LOW_PC], at[DW_AT_HIGH_PC]
        is_size = places[high].form not in (FORM_ADDR, *index_forms)
        if places[low].form != FORM_ADDR or not is_size:
            return None
    else:
        return None
    origin = at.get(DW_AT_ABSTRACT_ORIGIN, NONE) if shape.kind == INLINED else NONE
    if origin != NONE and places[origin].form in ELSEWHERE:
        origin = NONE
    is_of_unit = origin != NONE and places[origin].is_reference
    values = struct.Struct(format_).unpack_from
    return _Reader(values, low, high, places[low].form, origin, is_of_unit)


def _fixed_places(shape: Abbreviation) -> tuple[AttributePlace, ...] | None:
    """Return the places of the attributes to read; None if one is not fixed.

    gcc's functions differ in size only after their addresses.
    """
    wanted = [a for a, _, _ in shape.attributes if a in WANTED and a != DW_AT_SIBLING]
    if len({*wanted}) < len(wanted) or not shape.fixed.keys() >= {*wanted}:
        return None
    return tuple(shape.fixed[attribute] for attribute in wanted)


# Entries with code, entries around such entries, and all others.
_CODE, _NO_CODE, _TYPE, _OTHER = range(4)


class _TreeShapes:
    """A table of abbreviations, prepared for the walk.

    actions: how the entries of a code are read, _CODE to _OTHER
    leaves:  by the first byte of an entry: its size if it has no code and contains no entries; 0 if
             it must be read
    readers: by the code of entries with code
    first:   by the first byte of an entry: 1 if it can be a function with code
    """

    def __init__(self, info: Info, table: Mapping[int, Abbreviation]) -> None:
        self.actions = {c: (shape, _action(shape)) for c, shape in table.items()}
        self.readers = {
            c: _reader(info, shape)
            for c, (shape, action) in self.actions.items()
            if action == _CODE
        }
        self.leaves = [0] * 256
        first = bytearray(256)
        for code, (shape, action) in self.actions.items():
            if action == _CODE and shape.kind == FUNCTION:
                first[code if code < 0x80 else code & 0x7F | 0x80] = 1
            is_leaf = action in (_NO_CODE, _OTHER) and not shape.has_children
            if code < 0x80 and is_leaf and shape.size >= 0:
                self.leaves[code] = 1 + shape.size
        self.first = bytes(first)


def _action(shape: Abbreviation) -> int:
    """Return how an entry is read, _CODE to _OTHER."""
    if shape.kind == TYPE:
        return _TYPE
    if shape.kind in (FUNCTION, INLINED) and shape.is_placed:
        return _CODE
    return _NO_CODE if shape.kind == FUNCTION else _OTHER


# More than 40 lines: a single loop over all entries. It takes 130 ms for 3 MB of .debug_info.
# Outside functions with code, an entry and everything in it are skipped if no byte in them can
# begin such a function.
def _walk(
    info: Info,
    unit: Unit,
    places: tuple[AddressRanges, _Code],
    shapes: _TreeShapes,
    tree: InlineTree,
) -> None:
    """Add the functions of a unit to the tree, in the order of the entries.

    context: the node that contains inlined functions, NONE outside code.
    """
    data, end, start = info.data, unit.end, unit.start
    actions, leaves, readers = shapes.actions, shapes.leaves, shapes.readers
    # One byte for each byte of the unit, 1 if a function with code can begin there.
    begins = data[start:end].translate(shapes.first)
    ranges, inside = places[0], places[1].inside
    position = read_unit(info, unit)
    budget = 64 * (end - start)  # nested entries are searched again and again
    context = TOP
    outer: list[int] = []
    while position < end:
        place = position
        code = data[position]
        if size := leaves[code]:
            # Most entries: variables, parameters, call sites.
            position += size
            continue
        position += 1
        if code >= 0x80:
            code, position = leb(data, place)
        if not code:
            if not outer:
                return
            context = outer.pop()
            continue
        shape, action = actions[code]
        if action != _CODE or (context < 0 and shape.kind == INLINED):
            if context < 0 and shape.has_sibling:
                sibling = sibling_of(info, unit, shape, position)
                is_type = action == _TYPE and context == TOP
                budget -= 0 if is_type else sibling - position
                if position < sibling < end and (
                    is_type
                    or (budget > 0 and begins.find(1, position - start, sibling - start) < 0)
                ):
                    position = sibling
                    continue
            position = (
                position + shape.size if shape.size >= 0 else info.skip(position, shape.steps, unit)
            )
            # Blocks pass on their context. gcc puts the functions of a class that is local to a
            # function into the class.
            inner = NONE if action == _NO_CODE or (action == _TYPE and context != TOP) else context
        else:
            is_inlined = shape.kind == INLINED
            reader = readers[code]
            if reader is None:
                found, position = _attributes(info, unit, shape, position)
                origin, form = found.get(DW_AT_ABSTRACT_ORIGIN, (place, 0))
                origin = origin if is_inlined and form not in ELSEWHERE else place
                covered = inside(ranges.of(unit, found))
            else:
                values, at_low, at_high, form, at_origin, is_of_unit = reader
                read = values(data, position)
                if shape.size >= 0:
                    position += shape.size
                else:
                    position = info.skip(position, shape.steps, unit)
                # A function is often inlined many times; its name is then looked up once.
                origin = read[at_origin] if at_origin != NONE else place
                if is_of_unit:
                    origin += start
                low = read[at_low]
                if at_high == NONE:
                    covered = inside(ranges.listed(unit, low, form))
                else:
                    covered = inside(((low, low + read[at_high]),)) if read[at_high] else []
            inner = context if is_inlined else NONE
            if covered:
                inner = tree.add(inner, origin, covered)
        if shape.has_children:
            outer.append(context)
            if len(outer) > 16 * DEEPEST:
                raise DwarfError(f"entries are nested without end at {place}")
            context = inner
    if position > end:
        raise DwarfError(f"the unit at {unit.start} is cut")
