"""Read the code of an image without its debug information: executable sections and symbols."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int, Texts, without_underscore
from sizeguard.formats.dwarf.inline_tree import InlineTree
from sizeguard.formats.elf import STT_FUNC, STT_IFUNC, STT_NOTYPE, Elf

if TYPE_CHECKING:
    from sizeguard.formats.macho import MachO

LAST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Code:
    """Executable sections, and one symbol for each address that has any.

    sections: [start, end), ascending and disjoint. A symbol of size 0 extends to the next one, and
    to the end of its section.
    """

    path: Path
    sections: tuple[tuple[int, int], ...]
    address: Int
    size: Int
    names: Texts

    def symbol_at(self, address: Int) -> Int:
        """Return the index of the symbol at each address; -1 if there is none."""
        if not len(self.address):
            return np.full(len(address), -1, np.int64)
        which = np.searchsorted(self.address, address, side="right") - 1
        at = np.maximum(which, 0)
        starts, ends = np.array(self.sections, np.int64).reshape(-1, 2).T
        own = np.maximum(np.searchsorted(starts, self.address, side="right") - 1, 0)
        following = np.minimum(np.append(self.address[1:], np.int64(LAST)), ends[own])
        limit = np.where(self.size[at] > 0, self.address[at] + self.size[at], following[at])
        return np.where((which >= 0) & (address < limit), which, -1)


def elf_code(elf: Elf) -> Code:
    """Read the code of an ELF image."""
    sections = _extents(
        (s.address, s.size) for s in elf.sections if s.is_allocated and s.is_executable and s.size
    )
    tables = elf.static_symbols or elf.dynamic_symbols
    if not tables:
        return Code(elf.path, sections, np.zeros(0, np.int64), np.zeros(0, np.int64), Texts.of(()))
    table = tables[0]
    address = table.address
    if elf.machine in ("arm", "armeb"):
        address = address - (address & 1) * (table.type == STT_FUNC)  # the lowest bit means Thumb
    wanted = np.flatnonzero(
        np.isin(table.type, (STT_NOTYPE, STT_FUNC, STT_IFUNC))
        & (table.section > 0)
        & _inside(address, sections)
    )
    wanted = wanted[~((table.size[wanted] == 0) & _are_marks(table.names.take(wanted)))]
    # Among names of one address, sized symbols precede labels, global ones precede local ones.
    order = np.lexsort(
        (wanted, table.binding[wanted] == 0, table.size[wanted] == 0, address[wanted])
    )
    wanted = _first_of_each(wanted[order], address)
    return Code(elf.path, sections, address[wanted], table.size[wanted], table.names.take(wanted))


def macho_code(image: MachO) -> Code:
    """Read the code of a Mach-O image."""
    # 20 ms, unless an image was read.
    from sizeguard.formats.macho.constants import N_EXT, N_SECT, N_STAB, N_TYPE

    sections = _extents((s.address, s.size) for s in image.sections if s.is_code and s.size)
    table = image.symbols
    wanted = np.flatnonzero(
        ((table.type & N_STAB) == 0)
        & ((table.type & N_TYPE) == N_SECT)
        & _inside(table.value, sections)
    )
    order = np.lexsort((wanted, (table.type[wanted] & N_EXT) == 0, table.value[wanted]))
    wanted = _first_of_each(wanted[order], table.value)
    # Mach-O puts an underscore before each C name; DWARF does not.
    names = without_underscore(table.names.take(wanted))
    return Code(image.path, sections, table.value[wanted], np.zeros(len(wanted), np.int64), names)


def without_removed(tree: InlineTree, code: Code) -> InlineTree:
    """Leave out functions that the linker removed, if the image has code at address 0.

    Linkers put 0 in place of the address of a removed function. Firmware has code there. So a
    function at 0 is real only if it ends where the symbol at 0 ends.
    """
    if not code.sections or code.sections[0][0] > 0:
        return tree
    low, high, node, depth = tree.low, tree.high, tree.node, tree.depth
    end = int(code.address[0] + code.size[0]) if len(code.address) and not code.address[0] else 0
    outermost = np.maximum.accumulate(np.where(depth == 0, np.arange(len(depth)), 0))
    removed = np.zeros(len(depth), bool)
    removed[node[(low == 0) & (high != end) & (depth[node] == 0)]] = True
    kept = ~removed[outermost[node]]
    return replace(tree, low=low[kept], high=high[kept], node=node[kept])


def _are_marks(names: Texts) -> npt.NDArray[np.bool_]:
    """Check which names mark a place in a function, such as $d and .L1."""
    initials = names.initials()
    found: npt.NDArray[np.bool_] = (initials == ord("$")) | (initials == ord("."))
    return found


def _first_of_each(order: Int, address: Int) -> Int:
    """Return the first index for each address."""
    return (
        order[np.append(True, address[order][1:] != address[order][:-1])] if len(order) else order
    )


def _extents(places: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return ascending, disjoint extents.

    Sections of damaged files can overlap and exceed the last address.
    """
    found: list[tuple[int, int]] = []
    for address, size in sorted(places):
        start, end = max(address, found[-1][1] if found else 0), min(address + size, LAST)
        if start < end:
            found.append((start, end))
    return tuple(found)


def _inside(address: Int, sections: Iterable[tuple[int, int]]) -> npt.NDArray[np.bool_]:
    """Check which addresses are in one of the sections."""
    found = np.zeros(len(address), bool)
    for start, end in sections:
        found |= (address >= start) & (address < end)
    return found
