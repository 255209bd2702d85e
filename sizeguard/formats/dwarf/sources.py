"""Find the source file of code: the name of the debug information unit that covers an address."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.formats.dwarf.debug_info import DwarfError, Info
from sizeguard.formats.dwarf.dwarf_constants import DW_AT_NAME

DW_AT_COMPILATION_FOLDER = 0x1B
_IN_WORKTREE = re.compile(r"^\.sizeguard/worktrees/tree-\d+/")


@dataclass(frozen=True, slots=True)
class UnitSources:
    """Ranges [start, end) of addresses, ascending, and the file of each: names[file]."""

    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    file: npt.NDArray[np.int32]
    names: tuple[str, ...]

    def at(self, addresses: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """Return the file of each address, -1 for none."""
        if not len(self.start):
            return np.full(len(addresses), -1, np.int32)
        row = np.searchsorted(self.start, addresses, side="right") - 1
        inside = (row >= 0) & (addresses < self.end[np.maximum(row, 0)])
        return np.where(inside, self.file[np.maximum(row, 0)], -1).astype(np.int32)


def unit_sources(sections: dict[str, bytes], *, is_big: bool) -> UnitSources:
    """Read the first entry of each unit; if later units are damaged, return those before them."""
    names: dict[str, int] = {}
    files: list[int] = []
    rows = np.zeros((0, 3), np.int64)
    try:
        info = Info(sections, "big" if is_big else "little")
        units = info.code_units()
        rows = unit_ranges(info, units)
        for unit in units.tolist():
            files.append(names.setdefault(_source(info, unit), len(names)))
    except DwarfError:
        pass  # keep the units before it
    rows = rows[rows[:, 0] < len(files)]
    file = np.array(files, np.int32)[rows[:, 0]]
    order = np.lexsort((file, rows[:, 2], rows[:, 1]))
    start, end = rows[order, 1], rows[order, 2]
    return UnitSources(start, end, file[order], tuple(names))


def _source(info: Info, unit: int) -> str:
    """Return the path of a unit's source."""
    found = first_entry(info, unit)
    name, folder = (
        text_of(info, unit, found, key) for key in (DW_AT_NAME, DW_AT_COMPILATION_FOLDER)
    )
    return from_here(posixpath.normpath(posixpath.join(folder, name)) if name else "")


def from_here(path: str) -> str:
    """Return a path inside the current folder relative to it, or to the worktree that has it.

    So an image that the gate built has the sources of one that the user built.
    """
    inside = path.removeprefix(f"{Path.cwd()}/")
    return _IN_WORKTREE.sub("", inside)


def unit_ranges(info: Info, units: Int) -> Int:
    """Return rows of the addresses of units' code: index in `units`, first address, end.

    If a later unit is damaged, those before it are returned. Nothing begins at 0, where linkers
    leave removed code. Firmware has code at 0: there, units that are not linked would own its
    vector table.
    """
    rows = info.rows("unit_ranges", 3, 2 * len(units), units, len(units))
    return rows[rows[:, 1] > 0]


def first_entry(info: Info, unit: int) -> dict[int, tuple[int, int]]:
    """Return form and value of each attribute of a unit's first entry; empty without one."""
    rows = info.rows("own_attributes", 3, 32, unit)
    return {attribute: (form, value) for attribute, form, value in rows.tolist()}


def text_of(info: Info, unit: int, entry: dict[int, tuple[int, int]], attribute: int) -> str:
    """Return the text of an entry's attribute; empty if it has none."""
    return info.text_of(unit, *entry[attribute]) if attribute in entry else ""
