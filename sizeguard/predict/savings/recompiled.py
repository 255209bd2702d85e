"""Find code and constants that a compiler no longer emits without some references."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.distinct import distinct, without
from sizeguard.columns.texts import Int
from sizeguard.linkgraph.graph import CONSTANT, ENTRY, PART, RELOCATION, STRING, SectionGraph
from sizeguard.linkgraph.live import Bool, reachable
from sizeguard.names.demangle import demangle
from sizeguard.names.short import split_name


@dataclass(frozen=True, slots=True, eq=False)
class Recompiled:
    """Effects of recompiling objects without some references.

    gone:   mask of sections that are no longer emitted
    cut:    all edges that no longer exist: the given ones, and those of sections to strings and
            constants that only removed code used
    shared: functions that both removed code and other code of the object refer to → the number of
            remaining references; a compiler may inline or specialize them now
    """

    gone: Bool
    cut: Bool
    shared: dict[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Absent:
    """Nodes and edges that an image lacks, as masks."""

    nodes: Bool
    edges: Bool


class Recompiler:
    """Contents of each object after recompilation: exported names and their references.

    had: what the image lacks before anything is left out
    """

    def __init__(self, graph: SectionGraph, had: Absent) -> None:
        """Find the sections that are emitted only on demand."""
        self.graph = graph
        self._had = had
        nodes, edges = graph.nodes, graph.edges
        self._source = edges.source.astype(np.int64)
        self._target = edges.target.astype(np.int64)
        self.on_demand = self._on_demand()
        self._is_piece = np.isin(nodes.kind, (STRING, CONSTANT))
        self._refers = edges.reason == RELOCATION
        same = nodes.object[self._source] == nodes.object[self._target]
        is_entry = nodes.kind == ENTRY
        inner = self._refers & (self._target < nodes.sections)
        inner |= (edges.reason == PART) & is_entry[self._target]
        self._leaves = ~(same & inner)
        self._emitted = is_entry
        self._emitted[: nodes.sections] = True
        self._named = np.flatnonzero(self._is_piece[self._target] & self._refers)
        self._holds = np.flatnonzero((edges.reason == PART) & self._is_piece[self._target])
        self._used = self._pieces_of_objects(self._named)
        self._held = self._pieces_of_objects(self._holds)
        self._before: dict[bytes, Bool] = {}  # by objects; branches of a tag have the same ones

    def _on_demand(self) -> Bool:
        """Local functions, template instances, and data without a global symbol."""
        graph = self.graph
        found = np.zeros(len(graph.nodes), bool)
        found[: graph.nodes.sections] = True
        y = graph.symbols
        for i in np.flatnonzero(y.is_global & (y.node >= 0)).tolist():
            name = demangle(y.names[i].decode("utf-8", "backslashreplace"))
            if "<" not in name or "<" not in split_name(name).head:
                found[int(y.node[i])] = False
        found[graph.roots] = False
        return found

    def without(self, objects: npt.NDArray[np.int32], lacks: Absent) -> Recompiled:
        """Recompile objects of the image that lack more now.

        lacks: everything that is absent now, including what was absent before
        """
        key = objects.tobytes()
        if key not in self._before:
            self._before[key] = self._needed(objects, self._had)
        before, after = self._before[key], self._needed(objects, lacks)
        lost = before & ~after
        new = lacks.edges & ~self._had.edges
        unused = self._unused_pieces(after, lost, new)
        return Recompiled(lost, lacks.edges | unused, self._shared(before, after, lost, new))

    def _needed(self, objects: npt.NDArray[np.int32], absent: Absent) -> Bool:
        """Return what a compiler emits in some objects for their exported names."""
        nodes = self.graph.nodes
        inside = self._emitted & np.isin(nodes.object, objects)
        roots = np.flatnonzero(inside[: nodes.sections] & ~self.on_demand[: nodes.sections])
        return reachable(
            self.graph, roots, without=~inside | absent.nodes, cut=self._leaves | absent.edges
        )

    def _unused_pieces(self, after: Bool, lost: Bool, cut: Bool) -> Bool:
        """Find the edges from sections to pieces that nothing in their object uses any more."""
        source = self._source[self._named]
        is_lost = lost[source] | (cut[self._named] & after[source])
        unused = without(self._used[is_lost], self._used[~is_lost])
        found = np.zeros(len(cut), bool)
        found[self._holds[np.isin(self._held, unused)]] = True
        return found

    def _pieces_of_objects(self, edges: Int) -> Int:
        """Return a number for each edge: its target in the object of its source."""
        nodes = self.graph.nodes
        return nodes.object[self._source[edges]].astype(np.int64) * len(nodes) + self._target[edges]

    def _shared(self, before: Bool, after: Bool, lost: Bool, cut: Bool) -> dict[int, int]:
        """Count the remaining references to functions that lose some.

        A template instance is compiled in each object that uses it, though the link keeps one.
        """
        inner = self._refers & self.graph.nodes.is_exec[self._target]
        inner &= self.on_demand[self._target] & before[self._source]
        inner &= self._source != self._target
        removed = inner & (lost[self._source] | cut)
        stays = inner & after[self._source] & ~cut
        counts = np.bincount(self._target[stays], minlength=len(before))
        candidates = distinct(self._target[removed]).tolist()
        return {node: int(counts[node]) for node in candidates if counts[node]}
