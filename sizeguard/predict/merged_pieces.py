"""Find the input section that contains the single copy of each merged string or constant."""

from __future__ import annotations

from dataclasses import field

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int
from sizeguard.linkgraph.graph import CONSTANT, PART, STRING, SectionGraph

Bool = npt.NDArray[np.bool_]

# GNU ld and gold leave each content in the first section that has it. The others make one section
# of all merged ones, in the place of the first.
_IN_PLACE = ("bfd", "gold")


@dataclass(slots=True, eq=False)
class _Group:
    """Pieces that are merged with each other.

    nodes: sorted by reversed text, so that a string precedes those that it ends
    size:  bytes of each piece, padded
    last:  place of the last piece that each one ends, its own if none; empty if suffixes are not
           merged
    first: sections with pieces of the group, ascending
    """

    nodes: Int
    size: Int
    last: Int
    first: Int


@dataclass(eq=False)
class MergedPieces:
    """Merged strings and constants of a graph; the sizes of its sections exclude them."""

    graph: SectionGraph
    groups: list[_Group] = field(init=False)

    def __post_init__(self) -> None:
        """Group the pieces, and list their sections."""
        graph, nodes = self.graph, self.graph.nodes
        pieces = np.flatnonzero((nodes.kind == STRING) | (nodes.kind == CONSTANT))
        self._own = np.full(len(nodes), -1, np.int64)
        self._own[pieces] = [graph.section_of(node) for node in pieces.tolist()]
        edges = graph.edges
        is_piece = np.zeros(len(nodes), bool)
        is_piece[pieces] = True
        self._holds = np.flatnonzero((edges.reason == PART) & is_piece[edges.target])
        self._holder = edges.source[self._holds].astype(np.int64)
        self._held = edges.target[self._holds].astype(np.int64)
        self.groups = self._grouped(pieces)

    def _grouped(self, pieces: Int) -> list[_Group]:
        graph, nodes = self.graph, self.graph.nodes
        found: dict[tuple[str, int, int], list[int]] = {}
        for node in pieces.tolist():
            # .rodata.f.str1.1 and .rodata.str1.1 are merged: the part before the first function
            # name is the output section's.
            output = ".".join(graph.names[int(self._own[node])].split(".")[:2])
            key = (output, int(nodes.kind[node]), int(nodes.align[node]))
            found.setdefault(key, []).append(node)
        merges_ends = graph.linker == "bfd"
        groups = []
        for (_, kind, align), members in found.items():
            ends = kind == STRING and merges_ends
            keys = {node: graph.names[node][::-1] for node in members} if ends else {}
            members.sort(key=lambda node: keys.get(node, ""))
            groups.append(
                _Group(
                    np.array(members, np.int64),
                    -(-nodes.size[members] // align) * align,
                    _last_with([keys[node] for node in members]) if ends else np.zeros(0, np.int64),
                    distinct(self._own[members]),
                )
            )
        return groups

    def add_to(self, size: Int, kept: Bool, cut: Bool | None) -> None:
        """Add the bytes of kept pieces to the sizes of the sections that contain them.

        cut: missing edges; a section without its edge to a piece does not contain it
        """
        homes = self._homes(kept, cut)
        for group in self.groups:
            chosen = np.flatnonzero(kept[group.nodes])
            if not len(chosen):
                continue
            pieces = group.nodes[chosen]
            sizes = group.size[chosen]
            if len(group.last):
                sizes[:-1][group.last[chosen[:-1]] >= chosen[1:]] = 0
            if self.graph.linker in _IN_PLACE:
                np.add.at(size, homes[pieces], sizes)
            else:
                alive = group.first[kept[group.first]]
                size[alive[0] if len(alive) else homes[pieces[0]]] += sizes.sum()

    def _homes(self, kept: Bool, cut: Bool | None) -> Int:
        """Return for each piece the first kept section that contains it, else the first of all."""
        here = kept[self._holder]
        if cut is not None:
            here &= ~cut[self._holds]
        homes = self._own.copy()
        piece, first = np.unique(self._held[here], return_index=True)
        homes[piece] = self._holder[here][first]
        return homes


def _last_with(texts: list[str]) -> Int:
    """Return for each of some sorted texts the place of the last one that begins with it."""
    last = np.empty(len(texts), np.int64)
    open_: list[int] = []
    for i, text in enumerate(texts):
        while open_ and not text.startswith(texts[open_[-1]]):
            last[open_.pop()] = i - 1
        open_.append(i)
    last[open_] = len(texts) - 1
    return last
