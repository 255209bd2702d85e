"""Find code and constants that a compiler no longer emits without some references."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.columns.distinct import distinct, without
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
    """Contents of each object after recompilation: exported names and their references."""

    def __init__(self, graph: SectionGraph) -> None:
        """Find the sections that are emitted only on demand."""
        self.graph = graph
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

    def without(self, objects: npt.NDArray[np.int32], had: Absent, lacks: Absent) -> Recompiled:
        """Recompile objects that lacked something before and lack more now.

        lacks: everything that is absent now, including what was absent before
        """
        nodes = self.graph.nodes
        inside = self._emitted & np.isin(nodes.object, objects)
        roots = np.flatnonzero(inside[: nodes.sections] & ~self.on_demand[: nodes.sections])
        before, after = (
            reachable(
                self.graph, roots, without=~inside | absent.nodes, cut=self._leaves | absent.edges
            )
            for absent in (had, lacks)
        )
        lost = before & ~after
        new = lacks.edges & ~had.edges
        unused = self._unused_pieces(after, lost, new)
        return Recompiled(lost, lacks.edges | unused, self._shared(before, after, lost, new))

    def _unused_pieces(self, after: Bool, lost: Bool, cut: Bool) -> Bool:
        """Find the edges from sections to pieces that nothing in their object uses any more."""
        nodes = self.graph.nodes
        named = np.flatnonzero(self._is_piece[self._target] & self._refers)
        source, target = self._source[named], self._target[named]
        key = nodes.object[source].astype(np.int64) * len(nodes) + target
        is_lost = lost[source] | (cut[named] & after[source])
        unused = without(key[is_lost], key[~is_lost])
        holds = np.flatnonzero((self.graph.edges.reason == PART) & self._is_piece[self._target])
        held = nodes.object[self._source[holds]].astype(np.int64) * len(nodes) + self._target[holds]
        found = np.zeros(len(cut), bool)
        found[holds[np.isin(held, unused)]] = True
        return found

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
