"""Find the source file of code: the name of the debug information unit that covers an address."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.dwarf.abbreviations import DwarfError, leb
from sizeguard.formats.dwarf.dwarf_constants import DW_AT_NAME, UT_SPLIT, UT_SPLIT_TYPE, UT_TYPE
from sizeguard.formats.dwarf.function_names import FunctionNames
from sizeguard.formats.dwarf.ranges import AddressRanges
from sizeguard.formats.dwarf.units import Info, Unit
from sizeguard.formats.dwarf.walk import read_unit

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
    rows: list[tuple[int, int, int]] = []
    try:
        info = Info(sections, "big" if is_big else "little")
        texts, ranges = FunctionNames(info), AddressRanges(info)
        for unit in info.units:
            if unit.type in (UT_TYPE, UT_SPLIT, UT_SPLIT_TYPE):
                continue
            name, covered = _unit(info, texts, ranges, unit)
            file = names.setdefault(name, len(names))
            rows += [(low, high, file) for low, high in covered if high < 1 << 63]
    except (DwarfError, IndexError, KeyError):
        pass  # keep the units before it
    rows.sort()
    table = np.array(rows, np.int64).reshape(-1, 3)
    return UnitSources(table[:, 0], table[:, 1], table[:, 2].astype(np.int32), tuple(names))


def _unit(
    info: Info, texts: FunctionNames, ranges: AddressRanges, unit: Unit
) -> tuple[str, list[tuple[int, int]]]:
    """Return a unit's source and its addresses."""
    found = first_entry(info, unit)
    name, folder = (
        text_of(texts, unit, found, key) for key in (DW_AT_NAME, DW_AT_COMPILATION_FOLDER)
    )
    path = posixpath.normpath(posixpath.join(folder, name)) if name else ""
    return from_here(path), unit_ranges(ranges, unit, found)


def from_here(path: str) -> str:
    """Return a path inside the current folder relative to it, or to the worktree that has it.

    So an image that the gate built has the sources of one that the user built.
    """
    inside = path.removeprefix(f"{Path.cwd()}/")
    return _IN_WORKTREE.sub("", inside)


def unit_ranges(
    ranges: AddressRanges, unit: Unit, entry: dict[int, tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the addresses of a unit's code, except at 0, where linkers leave removed code.

    Firmware has code at 0: there, units that are not linked would own its vector table.
    """
    return [(low, high) for low, high in ranges.of(unit, entry) if low]


def first_entry(info: Info, unit: Unit) -> dict[int, tuple[int, int]]:
    """Return value and form of each attribute of a unit's first entry; empty without one."""
    read_unit(info, unit)
    code, position = leb(info.data, unit.entries)
    found: dict[int, tuple[int, int]] = {}
    for attribute, form, constant in unit.abbreviations[code].attributes if code else ():
        value, position = info.value(unit, form, constant, position)
        found[attribute] = (value, form)
    return found


def text_of(
    texts: FunctionNames, unit: Unit, entry: dict[int, tuple[int, int]], attribute: int
) -> str:
    """Return the text of an entry's attribute; empty if it has none."""
    if attribute not in entry:
        return ""
    value, form = entry[attribute]
    return texts.text(unit, form, value).decode("utf-8", "backslashreplace")
