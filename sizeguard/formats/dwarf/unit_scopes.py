"""Read what contains what in a unit: functions, classes, their local types and who uses them."""

from __future__ import annotations

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.dwarf.debug_info import Info


@dataclass(frozen=True, slots=True)
class UnitScopes:
    """The relevant entries of a unit, as places in .debug_info; NONE for nothing.

    function, parent:        defined functions, in order, and the function around each
    typedef, holder, around: typedefs, ascending, and the class and the function around each
    uses:                    rows of a function and a type that is used in it
    """

    function: Int
    parent: Int
    typedef: Int
    holder: Int
    around: Int
    uses: Int


def scopes_of(info: Info, unit: int) -> UnitScopes:
    """Read the scopes of a unit. Raises DwarfError if it is cut."""
    counts = np.zeros(3, np.int64)
    nothing = np.zeros(0, np.int64)
    info.call("read_scopes", unit, counts.copy(), nothing, nothing, nothing, counts)
    functions, typedefs, uses = (
        np.empty((count, width), np.int64)
        for count, width in zip(counts.tolist(), (2, 3, 2), strict=True)
    )
    info.call("read_scopes", unit, counts.copy(), functions, typedefs, uses, counts)
    function, parent = functions.T.copy()
    typedef, holder, around = typedefs.T.copy()
    return UnitScopes(function, parent, typedef, holder, around, uses)


def types_of(info: Info, places: Int) -> Int:
    """Return the entries that are the types of entries; NONE for those without one here."""
    types = np.empty(len(places), np.int64)
    info.call("types_of", places, len(places), types)
    return types


def uses_of_aliases(info: Info, unit: int, aliases: Int, uses: Int) -> Int:
    """Return the distinct uses whose types are built from an alias, with the alias as the type.

    aliases: typedefs of the unit
    """
    if not len(aliases):
        return uses[:0]
    kept = uses.copy()
    start, end = info.extent(unit)
    known = np.zeros(end - start, np.int32)
    of_aliases = (aliases, len(aliases), known)
    count = info.call("uses_of_aliases", unit, *of_aliases, kept, len(kept))
    found = kept[:count]
    order = np.lexsort((found[:, 1], found[:, 0]))
    found = found[order]
    is_new = np.ones(len(found), np.bool_)
    is_new[1:] = (found[1:] != found[:-1]).any(axis=1)
    return found[is_new]
