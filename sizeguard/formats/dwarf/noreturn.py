"""Find which compilation units declare that a function never returns."""

from __future__ import annotations

from sizeguard.formats.dwarf.debug_info import Info
from sizeguard.formats.dwarf.dwarf_constants import DW_AT_NAME, UT_SPLIT_TYPE, UT_TYPE
from sizeguard.formats.dwarf.entry_names import EntryNames
from sizeguard.formats.dwarf.sources import first_entry, text_of


def noreturn_declarations(info: Info, wanted: bytes) -> list[tuple[str, bool]]:
    """List declarations and definitions outside types and functions.

    wanted: text that the linkage name contains

    Returns the unit's name for each one, and whether it is declared as never returning. Raises
    DwarfError for damaged debug information.
    """
    found: list[tuple[str, bool]] = []
    for unit in info.units_except(UT_TYPE, UT_SPLIT_TYPE).tolist():
        rows = info.rows("outermost_functions", 2, 256, unit)
        places = rows[:, 0].copy()
        linkages = EntryNames(info, places).linkages(places)
        known = [
            bool(never)
            for linkage, never in zip(linkages, rows[:, 1].tolist(), strict=True)
            if wanted in linkage
        ]
        if known:
            name = text_of(info, unit, first_entry(info, unit), DW_AT_NAME)
            found += [(name, each) for each in known]
    return found
