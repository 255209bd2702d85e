"""Find which compilation units declare that a function never returns."""

from __future__ import annotations

from sizeguard.formats.dwarf.abbreviations import Abbreviation, DwarfError, leb
from sizeguard.formats.dwarf.dwarf_constants import (
    DW_AT_NAME,
    DW_AT_SIBLING,
    DW_TAG_NAMESPACE,
    DW_TAG_SUBPROGRAM,
    UT_SPLIT_TYPE,
    UT_TYPE,
)
from sizeguard.formats.dwarf.function_names import FunctionNames
from sizeguard.formats.dwarf.units import Info, Unit
from sizeguard.formats.dwarf.walk import DEEPEST, read_unit

DW_AT_NORETURN = 0x87


def noreturn_declarations(info: Info, wanted: bytes) -> list[tuple[str, bool]]:
    """List declarations and definitions outside types and functions.

    wanted: text that the linkage name contains

    Returns the unit's name for each one, and whether it is declared as never returning. Raises
    DwarfError for damaged debug information.
    """
    names = FunctionNames(info)
    found: list[tuple[str, bool]] = []
    for unit in info.units:
        if unit.type in (UT_TYPE, UT_SPLIT_TYPE):
            continue
        try:
            known = _of_unit(info, unit, names, wanted)
            if known:
                found += [(_unit_name(info, unit, names), each) for each in known]
        except (IndexError, KeyError) as error:
            raise DwarfError(f"the unit at {unit.start} is cut") from error
    return found


# More than 40 lines: a single loop over all entries, as in walk, since each call would cost a third
# of it.
def _of_unit(info: Info, unit: Unit, names: FunctionNames, wanted: bytes) -> list[bool]:
    """Return for each function of that name in a unit whether it never returns.

    Functions in entries other than namespaces have other scopes.
    """
    data, end = info.data, unit.end
    position = read_unit(info, unit)
    found: list[bool] = []
    is_scope = True
    outer: list[bool] = []
    while position < end:
        place = position
        code = data[position]
        position += 1
        if code >= 0x80:
            code, position = leb(data, place)
        if not code:
            if not outer:
                return found
            is_scope = outer.pop()
            continue
        shape = unit.abbreviations[code]
        if shape.tag == DW_TAG_SUBPROGRAM and is_scope and wanted in names.linkage(place):
            found.append(any(attribute == DW_AT_NORETURN for attribute, _, _ in shape.attributes))
        start = position
        position = (
            position + shape.size if shape.size >= 0 else info.skip(position, shape.steps, unit)
        )
        if not shape.has_children:
            continue
        is_namespace = shape.tag == DW_TAG_NAMESPACE
        if shape.has_sibling and not is_namespace:
            sibling = _sibling(info, unit, shape, start)
            if position <= sibling < end:
                position = sibling
                continue
        outer.append(is_scope)
        if len(outer) > 16 * DEEPEST:
            raise DwarfError(f"entries are nested without end at {place}")
        is_scope = is_scope and is_namespace
    if position > end:
        raise DwarfError(f"the unit at {unit.start} is cut")
    return found


def _sibling(info: Info, unit: Unit, shape: Abbreviation, position: int) -> int:
    """Return the entry that follows the children of the entry with attributes at a position."""
    for attribute, form, constant in shape.attributes:
        value, position = info.value(unit, form, constant, position)
        if attribute == DW_AT_SIBLING:
            return value
    return 0


def _unit_name(info: Info, unit: Unit, names: FunctionNames) -> str:
    """Return the source file that a unit's own entry names."""
    code, position = leb(info.data, unit.entries)
    for attribute, form, constant in unit.abbreviations[code].attributes:
        value, position = info.value(unit, form, constant, position)
        if attribute == DW_AT_NAME:
            return names.text(unit, form, value).decode("utf-8", "backslashreplace")
    return ""
