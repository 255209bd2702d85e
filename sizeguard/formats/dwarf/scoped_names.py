"""Name functions that have a source name alone, with the scopes around them."""

from __future__ import annotations

import numpy as np

from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int
from sizeguard.formats.dwarf.debug_info import Info
from sizeguard.formats.dwarf.dwarf_constants import DW_TAG_NAMESPACE, DW_TAG_SUBPROGRAM
from sizeguard.formats.dwarf.entry_names import NONE, EntryNames
from sizeguard.formats.dwarf.spelled_names import spells

_NAMELESS = {DW_TAG_NAMESPACE: b"(anonymous namespace)"}


def scoped_names(info: Info, names: EntryNames, places: Int) -> dict[int, bytes]:
    """Map each place whose function has a source name alone to that name with its scopes.

    A linkage name that does not spell the source name is a label: void gather() asm("row8"). gcc
    gives no linkage name to a local function, so `item` could be any function of that name;
    with scopes it is `sg::kernels::(anonymous namespace)::item()`. The parentheses are empty, since
    its parameters are not read. A function outside of all scopes, as in C, keeps its name.

    Raises DwarfError if a unit is cut.
    """
    declared = {
        place: (entry, source)
        for place, (linkage, source, entry) in zip(
            places.tolist(), names.functions(places), strict=True
        )
        if entry != NONE and not (linkage and spells(linkage, source))
    }
    scopes = _scopes(info, distinct(np.array([entry for entry, _ in declared.values()], np.int64)))
    return {
        place: b"::".join((*scopes[entry], source)) + b"()" if scopes[entry] else source
        for place, (entry, source) in declared.items()
    }


def _scopes(info: Info, wanted: Int) -> dict[int, tuple[bytes, ...]]:
    """Map entries, ascending, to the names of the scopes around them, the outermost first."""
    found: dict[int, tuple[bytes, ...]] = {}
    bounds = np.searchsorted(wanted, np.append(info.units["start"], len(info.data)))
    for unit in np.flatnonzero(np.diff(bounds)).tolist():
        entries = wanted[bounds[unit] : bounds[unit + 1]]
        first, scopes = _around(info, unit, entries)
        named = distinct(scopes[:, 0].copy())
        sources = dict(zip(named.tolist(), EntryNames(info, named).sources(named), strict=True))
        texts = [_named(sources[place], tag) for place, tag in scopes.tolist()]
        for i, entry in enumerate(entries.tolist()):
            found[entry] = tuple(texts[first[i] : first[i + 1]])
    return found


def _around(info: Info, unit: int, entries: Int) -> tuple[list[int], Int]:
    """Return rows of the place and tag of scopes; those of entry i are first[i]:first[i + 1]."""
    first = np.zeros(len(entries) + 1, np.int64)
    asked = (unit, entries, len(entries), first)
    scopes = info.rows("scopes_around", 2, 8 * len(entries), *asked)
    return first.tolist(), scopes


def _named(source: bytes, tag: int) -> bytes:
    name = source or _NAMELESS.get(tag, b"{unnamed}")
    return name + b"()" if tag == DW_TAG_SUBPROGRAM else name
