"""Read what contains what in a unit: functions, classes, their local types and who uses them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import field

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.dwarf.abbreviations import Abbreviation, DwarfError, leb
from sizeguard.formats.dwarf.dwarf_constants import (
    DW_AT_DECLARATION,
    DW_AT_NAME,
    DW_AT_TYPE,
    DW_TAG_SUBPROGRAM,
    DW_TAG_TYPEDEF,
    ELSEWHERE,
    FORM_STRING,
    FORM_STRP,
)
from sizeguard.formats.dwarf.units import Info, Unit
from sizeguard.formats.dwarf.walk import DEEPEST, read_unit, sibling_of

NONE = -1
_STRUCTURES = frozenset({0x02, 0x13, 0x17})  # class, structure, union
_TYPE = frozenset({DW_AT_TYPE})
_USERS = frozenset({0x05, 0x0D, 0x34})  # parameter, member, variable
_MOST_MENTIONS = 256  # strings with a word; with more, names can be anywhere

_OTHER, _FUNCTION, _DECLARED, _STRUCTURE, _TYPEDEF, _USER = range(6)


@dataclass(slots=True)
class UnitScopes:
    """The relevant entries of a unit.

    parent:    function or class → the function around it
    holder:    typedef → the class around it
    local:     typedefs in functions
    uses:      (function, type)
    functions: defined functions, in order
    """

    parent: dict[int, int] = field(default_factory=dict)
    holder: dict[int, int] = field(default_factory=dict)
    local: list[int] = field(default_factory=list)
    uses: set[tuple[int, int]] = field(default_factory=set)
    functions: list[int] = field(default_factory=list)


def _kind(shape: Abbreviation) -> int:
    """Return the kind of an entry, from _OTHER to _USER."""
    if shape.tag == DW_TAG_SUBPROGRAM:
        return (
            _DECLARED
            if any(attribute == DW_AT_DECLARATION for attribute, _, _ in shape.attributes)
            else _FUNCTION
        )
    if shape.tag in _STRUCTURES:
        return _STRUCTURE
    if shape.tag == DW_TAG_TYPEDEF:
        return _TYPEDEF
    # For inlined parameters and variables, another entry gives the type.
    return _USER if shape.tag in _USERS and shape.has_any(_TYPE) else _OTHER


def scopes_of(info: Info, unit: Unit, mentions: Mentions) -> UnitScopes:
    """Read the scopes of a unit. Raises DwarfError if it is cut."""
    try:
        places = mentions.in_unit(info, unit)
        return _read_scopes(info, unit, mentions.shapes_of(unit), places)
    except (IndexError, KeyError) as error:
        raise DwarfError(f"the unit at {unit.start} is cut") from error


class _ScopeShapes:
    """A table of abbreviations, prepared for the walk: by code shape, kind, and type's place.

    leaves: by the first byte of an entry: its size if it can be skipped; 0 if it matters
    forms:  of the names of structures
    """

    def __init__(self, unit: Unit) -> None:
        self.of_code = {
            code: (shape, _kind(shape), shape.fixed.get(DW_AT_TYPE))
            for code, shape in unit.abbreviations.items()
        }
        self.forms = {
            form
            for shape in unit.abbreviations.values()
            if shape.tag in _STRUCTURES
            for attribute, form, _ in shape.attributes
            if attribute == DW_AT_NAME
        }
        self.leaves = [0] * 256
        for code, (shape, kind, _) in self.of_code.items():
            is_leaf = not shape.has_children and kind not in (_USER, _TYPEDEF, _FUNCTION)
            if code < 0x80 and is_leaf and shape.size >= 0:
                self.leaves[code] = 1 + shape.size


# More than 40 lines: a single loop over all entries, as in walk.
def _read_scopes(
    info: Info, unit: Unit, shapes: _ScopeShapes, mentions: list[int] | None
) -> UnitScopes:
    """Read the scopes of a unit in one pass over its entries.

    mentions: places where the wanted names may be, ascending; None if they can be anywhere
    """
    data, end, order, of_code, leaves = (
        info.data,
        unit.end,
        info.order,
        shapes.of_code,
        shapes.leaves,
    )
    scopes = UnitScopes()
    uses, start = scopes.uses, unit.start
    position = read_unit(info, unit)
    function, structure = NONE, NONE
    outer: list[tuple[int, int]] = []
    while position < end:
        place = position
        code = data[position]
        if size := leaves[code]:
            position += size
            continue
        position += 1
        if code >= 0x80:
            code, position = leb(data, place)
        if not code:
            if not outer:
                return scopes
            function, structure = outer.pop()
            continue
        shape, kind, type_at = of_code[code]
        if kind == _USER and function != NONE:
            if type_at is not None:
                low = position + type_at.offset
                if type_at.form not in ELSEWHERE:
                    type_ = int.from_bytes(data[low : low + type_at.width], order)
                    uses.add((function, type_ + start if type_at.is_reference else type_))
                position = (
                    position + shape.size
                    if shape.size >= 0
                    else info.skip(position, shape.steps, unit)
                )
            else:
                type_, position = type_reference(info, unit, shape, position)
                if type_ != NONE:
                    uses.add((function, type_))
        else:
            if kind == _STRUCTURE and function == NONE and mentions is not None:
                sibling = sibling_of(info, unit, shape, position) if shape.has_sibling else 0
                which = bisect_left(mentions, place)
                if position < sibling < end and (
                    which == len(mentions) or mentions[which] >= sibling
                ):
                    position = sibling
                    continue
            position = (
                position + shape.size if shape.size >= 0 else info.skip(position, shape.steps, unit)
            )
        if kind == _TYPEDEF:
            if structure != NONE:
                scopes.holder[place] = structure
            if function != NONE:
                scopes.local.append(place)
        elif kind == _FUNCTION:
            scopes.parent[place] = function
            scopes.functions.append(place)
        if shape.has_children:
            outer.append((function, structure))
            if len(outer) > 16 * DEEPEST:
                raise DwarfError(f"entries are nested without end at {place}")
            structure = place if kind == _STRUCTURE else NONE
            if kind == _FUNCTION:
                function = place
    if position > end:
        raise DwarfError(f"the unit at {unit.start} is cut")
    return scopes


class Mentions:
    """Places in .debug_info that may contain names of the wanted classes.

    A class that contains none of these places has no entry that matters, and is skipped.
    """

    def __init__(self, info: Info, words: tuple[bytes, ...]) -> None:
        """Find the words among the strings; names in .debug_info may also contain them."""
        self._shapes: dict[int, _ScopeShapes] = {}
        texts = info.sections.get("str", b"")
        self.patterns = list(words)
        for word in words:
            at = texts.find(word)
            while at >= 0 and len(self.patterns) <= _MOST_MENTIONS:
                self.patterns.append(at.to_bytes(4, info.order))
                at = texts.find(word, at + 1)

    def in_unit(self, info: Info, unit: Unit) -> list[int] | None:
        """Return the places, ascending; None if names can be anywhere."""
        forms = self.shapes_of(unit).forms
        too_many = len(self.patterns) > _MOST_MENTIONS
        if too_many or unit.offset_size != 4 or not forms <= {FORM_STRP, FORM_STRING}:
            return None
        found = []
        for pattern in self.patterns:
            at = info.data.find(pattern, unit.start, unit.end)
            while at >= 0:
                found.append(at)
                at = info.data.find(pattern, at + 1, unit.end)
        return sorted(found)

    def shapes_of(self, unit: Unit) -> _ScopeShapes:
        """Return the shapes of a unit's entries; units that share a table share the result."""
        key = id(unit.abbreviations)
        if key not in self._shapes:
            self._shapes[key] = _ScopeShapes(unit)
        return self._shapes[key]


def type_reference(info: Info, unit: Unit, shape: Abbreviation, position: int) -> tuple[int, int]:
    """Read an entry's attributes; return the entry of its type, or NONE, and the entry's end."""
    type_ = NONE
    for attribute, form, constant in shape.attributes:
        value, position = info.value(unit, form, constant, position)
        if attribute == DW_AT_TYPE and form not in ELSEWHERE:
            type_ = value
    return type_, position
