"""Turns the full build's graph and a selection into the sizes of the selective build, without building it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.layout import Layout
from sizeguard.linkgraph.live import live, reachable
from sizeguard.linkgraph.selecting import Unselected, without_entries
from sizeguard.linkgraph.subjects import operators

Bool = npt.NDArray[np.bool_]

# Sections of the image that count as RAM: writable ones.
_RAM = (".data", ".bss", ".data.rel.ro", ".init_array", ".fini_array", ".preinit_array", ".got", ".dynamic", ".tdata", ".tbss")


@dataclass(frozen=True, slots=True)
class Kept:
    """What a selection keeps. None: all of them.

    operators: names with overloads; classes: names of custom classes
    """

    operators: frozenset[str] | None = None
    classes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes of a predicted image."""

    load: int
    ram: int


class Predictor:
    """Predicts selections of one full build. load, ram: what the full build really has; the model tells the differences."""

    def __init__(self, graph: SectionGraph, load: int, ram: int) -> None:
        self.graph = graph
        self.full = Size(load, ram)
        self.layout = Layout(graph)
        self._table = operators(graph)
        self._live = live(graph)
        self._full_sizes = self.layout.sizes(self._live)

    @cached_property
    def operators(self) -> frozenset[str]:
        return frozenset(name for name in self._table if "::" in name)

    @cached_property
    def classes(self) -> frozenset[str]:
        return frozenset(name for name in self._table if "::" not in name)

    def size(self, kept: Kept) -> Size:
        what = self.unselected(kept)
        sizes = self.layout.sizes(self.remaining(what), what.shrunk)
        return self._difference(sizes)

    def unselected(self, kept: Kept) -> Unselected:
        gone = [
            node
            for name, nodes in self._table.items()
            if not _is_in(name, kept.operators if "::" in name else kept.classes)
            for node in nodes
        ]
        return without_entries(self.graph, gone)

    def remaining(self, what: Unselected) -> Bool:
        return reachable(self.graph, self.graph.roots, without=what.gone)

    def _difference(self, sizes: dict[str, int]) -> Size:
        load = ram = 0
        for name in self._full_sizes.keys() | sizes.keys():
            less = self._full_sizes.get(name, 0) - sizes.get(name, 0)
            output = self.layout.outputs.get(name)
            if output is None or not output.is_nobits:
                load += less
            if name in _RAM:
                ram += less
        return Size(self.full.load - load, self.full.ram - ram)


def _is_in(name: str, chosen: Collection[str] | None) -> bool:
    return chosen is None or name in chosen
