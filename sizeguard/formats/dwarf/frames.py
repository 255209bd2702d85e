"""Read an image's inline frames: the functions over each range of code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int, Texts
from sizeguard.formats import sniff
from sizeguard.formats.dwarf.case_aliases import Branches, branch_aliases
from sizeguard.formats.dwarf.code_sections import (
    Code,
    elf_code,
    macho_code,
    without_removed,
)
from sizeguard.formats.dwarf.debug_info import DwarfError, Info
from sizeguard.formats.dwarf.dwarf_constants import UT_SKELETON
from sizeguard.formats.dwarf.entry_names import NONE, EntryNames
from sizeguard.formats.dwarf.inline_tree import InlineTree, read_tree
from sizeguard.formats.dwarf.scoped_names import scoped_names
from sizeguard.formats.dwarf.sections import NO_DSYM, damaged, elf_sections, macho_sections
from sizeguard.formats.dwarf.spelled_names import spells
from sizeguard.formats.elf import Elf, read_elf

if TYPE_CHECKING:
    from sizeguard.formats.macho import MachO

Int32 = npt.NDArray[np.int32]


# Sections that name the file with the rest of the debug information.
_SHARED = (".gnu_debugaltlink", ".debug_sup")
MOST_FRAMES = 64  # functions over a range, on average; ceph-mon has 8


class NoDebugInformationError(InconclusiveError):
    """Nothing describes the code, as after a build without -g."""


@dataclass(frozen=True, slots=True)
class InlineFrames:
    """Ranges of code, ascending and disjoint, and the functions over each.

    start, end: int64 addresses, half open
    first:      int64; the frames of range i are frame[first[i]:first[i + 1]], the innermost first,
                the function itself last
    frame:      int32, index into names
    names:      mangled, as the linker knows them; functions without a linker name, such as lambdas,
                have their source name
    branches:   for each name, the switch branches that contain the function, if requested; equal
                names may have different branches
    """

    start: Int
    end: Int
    first: Int
    frame: Int32
    names: Texts
    branches: tuple[Branches, ...] = ()

    def __len__(self) -> int:
        """Return the number of ranges."""
        return len(self.start)

    @property
    def depth(self) -> Int:
        """The number of functions over each range; 1 where nothing is inlined."""
        return np.diff(self.first)

    def plain_names(self) -> list[str]:
        """List the names, without the underscore that Mach-O puts before each mangled name."""
        return [_plain(self.names[i]) for i in range(len(self.names))]

    def plain_at(self, address: int) -> list[str]:
        """List the names over an address as plain_names does, the innermost first."""
        return [_plain(name) for name in self.at(address)]

    def at(self, address: int) -> tuple[str, ...]:
        """Return the names over an address, the innermost first."""
        i = int(np.searchsorted(self.start, address, side="right")) - 1
        if i < 0 or address >= self.end[i]:
            return ()
        return tuple(
            self.names[int(name)] for name in self.frame[self.first[i] : self.first[i + 1]]
        )


def _plain(name: str) -> str:
    return name[1:] if name.startswith("__Z") else name


def inline_frames(
    path: Path,
    debug: Path | None = None,
    arch: str = "",
    templates: tuple[str, ...] = (),
    *,
    scoped: bool = False,
) -> InlineFrames:
    """Read the frames of an image, or directly of its debug file or dSYM.

    debug: the file with its debug information, unless it is in the image or in a dSYM next to it.
    templates: names of classes that contain the type of a switch's branch (see case_aliases); if
    given, the branches of functions are found.
    scoped: give functions without a linker name their scopes (see scoped_names)

    Raises InputError for a damaged file, NoDebugInformationError if there is no debug information,
    InconclusiveError if it belongs to another build or is in other files.
    """
    wanted = _Wanted(templates, scoped)
    if sniff.image_format(path) == sniff.MACHO:
        from sizeguard.formats.macho import read_macho  # 20 ms

        image = read_macho(path, arch)
        dsym = _dsym(image, debug)
        return _frames(
            macho_code(image), dsym.path, macho_sections(dsym), dsym.order == ">", wanted
        )
    elf = read_elf(path)
    if elf.is_relocatable:
        raise InputError(f"{path}: an object: its code has no addresses yet; give the linked image")
    holder = elf if debug is None else _same_build(elf, debug)
    if any(section.name in _SHARED for section in holder.sections):
        raise InconclusiveError(
            f"{holder.path}: dwz moved parts of its debug information to a file that it shares with"
            " others, which is not read; give the debug information before dwz -m"
        )
    return _frames(
        elf_code(elf), holder.path, elf_sections(holder), holder.layout.order == ">", wanted
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Options of inline_frames for its reader."""

    templates: tuple[str, ...]
    scoped: bool


def _dsym(image: MachO, debug: Path | None) -> MachO:
    """Return the image with the debug information."""
    from sizeguard.formats.macho.dsym import with_debug_information

    dsym = with_debug_information(image, debug)
    if dsym is None:
        raise NoDebugInformationError(f"{image.path}: {NO_DSYM}")
    return dsym


def _same_build(elf: Elf, debug: Path) -> Elf:
    """Read the debug file; raise InconclusiveError if its build id differs."""
    other = read_elf(debug)
    if not elf.build_id or elf.build_id != other.build_id:
        ours, theirs = elf.build_id or "no build id", other.build_id or "no build id"
        raise InconclusiveError(
            f"{debug}: debug information of another build: it has {theirs}, {elf.path} has {ours}"
        )
    return other


def _frames(
    code: Code, path: Path, sections: dict[str, bytes], is_big: bool, wanted: _Wanted
) -> InlineFrames:
    """Read the frames; path: the file with the debug information."""
    try:
        info = Info(sections, "big" if is_big else "little")
        tree = without_removed(read_tree(info, code.sections), code)
        if not len(tree.low):
            if np.any(info.units["type"] == UT_SKELETON):
                raise InconclusiveError(
                    f"{path}: its debug information is in .dwo files; build without -gsplit-dwarf"
                )
            raise NoDebugInformationError(
                f"{path}: no debug information of the code of {code.path}"
            )
        return _named(code, info, tree, wanted, _painted(tree))
    except DwarfError as error:
        raise damaged(path, str(error)) from error


@dataclass(frozen=True, slots=True)
class _Painted:
    """Sorted ranges [start, end) without overlaps, each with its innermost node."""

    start: Int
    end: Int
    node: Int


def _painted(tree: InlineTree) -> _Painted:
    """Cut the code into ranges with their innermost nodes.

    Nodes overwrite the nodes that contain them, level by level.
    """
    low, high, node = tree.low, tree.high, tree.node
    depth = tree.depth[node]
    edges = distinct(np.concatenate([low, high]))
    painted = np.full(len(edges), NONE, np.int64)
    first, last = np.searchsorted(edges, low), np.searchsorted(edges, high)
    order = np.lexsort((first, depth))
    bounds = np.flatnonzero(np.append(np.diff(depth[order]) != 0, True)) + 1
    begin = 0
    for bound in bounds:
        level = order[begin:bound]
        begin = int(bound)
        # Folded functions share an address; the last one counts.
        stop = np.minimum(last[level], np.append(first[level][1:], len(edges)))
        count = np.maximum(stop - first[level], 0)
        cells = np.repeat(first[level] - np.append(0, np.cumsum(count)[:-1]), count) + np.arange(
            int(count.sum())
        )
        painted[cells] = np.repeat(node[level], count)
    keep = np.flatnonzero(painted[:-1] != NONE)
    return _Painted(edges[keep], edges[keep + 1], painted[keep])


def _named(
    code: Code, info: Info, tree: InlineTree, wanted: _Wanted, painted: _Painted
) -> InlineFrames:
    """Name the functions over each range; names of the outermost come from the symbol table.

    DWARF has no names for cold parts.
    """
    first, nodes = _nodes_over(tree, painted.node)
    places, index = _indexed(tree.entry, nodes)
    names = EntryNames(info, places)
    found = branch_aliases(info, wanted.templates) if wanted.templates else {}
    listed, branches = _branches(places, names, found)
    scopes = scoped_names(info, names, places) if wanted.scoped else {}
    texts = [
        scopes.get(place) or name
        for place, name in zip(places.tolist(), names.of(places), strict=True)
    ]
    ids: dict[tuple[bytes, int], int] = {}
    pairs = zip(texts, branches.tolist(), strict=True)
    frame = np.array([ids.setdefault(pair, len(ids)) for pair in pairs], np.int32)[index]

    outermost = first[1:] - 1
    branch = branches[index[outermost]]
    rows, known = _by_symbol(code, painted.start, branch, len(listed), ids)
    at = outermost[rows]
    is_label = np.zeros(len(rows), np.bool_)
    if wanted.scoped:
        symbols = [name for name, _ in ids]
        is_label = _are_labels(names.sources(places), index[at], symbols, known)
    frame[at[~is_label]] = known[~is_label]
    # A function with a label becomes one that is inlined into the label.
    more = np.zeros(len(first), np.int64)
    more[rows[is_label] + 1] = 1
    frame = np.insert(frame, at[is_label] + 1, known[is_label])
    named = [(name, listed[of]) for name, of in ids]
    return _merged(painted.start, painted.end, first + np.cumsum(more), frame, named)


def _indexed(entry: Int, nodes: Int) -> tuple[Int, Int32]:
    """Return the distinct entries of nodes, and the index of each node's entry among them."""
    is_used = np.zeros(len(entry), np.bool_)
    is_used[nodes] = True
    used = np.flatnonzero(is_used)
    places = distinct(entry[used])
    where = np.zeros(len(entry), np.int32)
    where[used] = np.searchsorted(places, entry[used])
    return places, where[nodes]


def _are_labels(
    sources: list[bytes], function: Int32, symbols: list[bytes], symbol: Int32
) -> npt.NDArray[np.bool_]:
    """Return which symbols do not spell the source names of their functions.

    function, symbol: indices into sources and symbols, for each range
    """
    key = function.astype(np.int64) * len(symbols) + symbol
    pairs = distinct(key)
    divided = (divmod(pair, len(symbols)) for pair in pairs.tolist())
    is_label = [not spells(symbols[last], sources[first]) for first, last in divided]
    return np.array(is_label, np.bool_)[np.searchsorted(pairs, key)]


def _nodes_over(tree: InlineTree, node: Int) -> tuple[Int, Int]:
    """Return the nodes over each range, from its innermost `node` outwards, range by range.

    Those of range i are at [first[i], first[i + 1]); first is the first result.
    """
    depth = tree.depth[node].astype(np.int64) + 1
    first = np.append(np.int64(0), np.cumsum(depth))
    if first[-1] > MOST_FRAMES * len(depth) + (1 << 20):
        raise DwarfError(f"{first[-1]} functions over {len(depth)} ranges")
    nodes = np.zeros(int(first[-1]), np.int64)
    rows, level = np.arange(len(node)), node
    for step in range(int(depth.max())):
        nodes[first[rows] + step] = level
        goes_on = depth[rows] > step + 1
        rows, level = rows[goes_on], tree.parent[level[goes_on]].astype(np.int64)
    return first, nodes


def _by_symbol(
    code: Code, start: Int, branch: Int, count: int, ids: dict[tuple[bytes, int], int]
) -> tuple[Int, Int32]:
    """Name ranges by the symbol at their start.

    branch: number of each range's function's branches, below count; ids: numbers of names, extended
    here.

    Returns the ranges that have a symbol, and the number of each symbol's name.
    """
    symbol = code.symbol_at(start)
    rows = np.flatnonzero(symbol >= 0)
    key = symbol[rows] * count + branch[rows]
    used = distinct(key)
    pairs = [(code.names.raw(i // count), i % count) for i in used.tolist()]
    numbers = np.array([ids.setdefault(pair, len(ids)) for pair in pairs], np.int32)
    return rows, numbers[np.searchsorted(used, key)]


def _branches(
    places: Int, names: EntryNames, found: dict[int, Branches]
) -> tuple[list[Branches], Int]:
    """Return different branches, and which of them contain each function, by its entry.

    The branches are known by this entry or by an entry that it refers to.
    """
    listed = list(dict.fromkeys([(), *found.values()]))
    numbers = {of: i for i, of in enumerate(listed)}
    known = sorted(found)
    of_known = np.array([*(numbers[found[place]] for place in known), 0], np.int64)
    # NONE is the last, which has no branches.
    return listed, of_known[names.first_of(places, np.array(known, np.int64))]


def _merged(
    start: Int, end: Int, first: Int, frame: Int32, names: list[tuple[bytes, Branches]]
) -> InlineFrames:
    """Join neighbours with equal frames."""
    depth = np.diff(first)
    alike = (start[1:] == end[:-1]) & (depth[1:] == depth[:-1])
    pairs = np.flatnonzero(alike)
    count = depth[pairs]
    step = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    differs = (
        frame[np.repeat(first[pairs], count) + step]
        != frame[np.repeat(first[pairs + 1], count) + step]
    )
    alike[pairs[np.repeat(np.arange(len(pairs)), count)[differs]]] = False
    begins = np.flatnonzero(np.append(True, ~alike))
    ends = np.append(begins[1:] - 1, len(start) - 1)
    depth = depth[begins]
    new_first = np.append(np.int64(0), np.cumsum(depth))
    step = np.arange(int(depth.sum())) - np.repeat(new_first[:-1], depth)
    columns = start[begins], end[ends], new_first, frame[np.repeat(first[begins], depth) + step]
    return InlineFrames(
        *columns, Texts.of([name for name, _ in names]), tuple(branches for _, branches in names)
    )
