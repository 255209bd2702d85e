"""Predict the sizes of a selective build from the full build's graph and a selection.

The model covers the link: which nodes are kept, and their layout. It covers the compiler only in a
few effects, each measured on the eleven sample models:

- a message of verbose_errors takes 6 bytes of code in addition to its text
- a switch without any dtype disappears, from its first case to its last
- omitted branches call one handler
- clang's table of bodies becomes a jump

Other effects of inlining are not modelled, so dtypes are predicted with an interval. docs/cost.md
has the measured errors. They are largest for clang -O2, which inlines a function into its only
caller once few branches are left: of 1,259 bytes too many for tanh_rnn, 661 are
Converter::operator() and its inlined copy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import Bool, live, reachable
from sizeguard.linkgraph.subjects import operators
from sizeguard.predict.feature_prices import FeaturePrices, UngraphedBytes, nodes_of_texts
from sizeguard.predict.image_layout import ImageLayout
from sizeguard.predict.prediction import FeatureCost, PredictedSaving
from sizeguard.predict.switch_edges import SwitchEdges
from sizeguard.predict.unselected import Unselected, without_entries
from sizeguard.runtimes.build_facts import BuildFacts

# Writable tables that linkers of ELF make; they count as RAM, as writable sections do.
_RAM = (".got", ".dynamic")


@dataclass(frozen=True, slots=True)
class Kept:
    """The parts of the runtime that a selection keeps. None means all of them.

    operators: names with overloads
    classes:   names of custom classes
    dtypes:    tag → names
    features:  names
    """

    operators: frozenset[str] | None = None
    classes: frozenset[str] | None = None
    dtypes: Mapping[str, Collection[str]] | None = None
    features: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes of a predicted image. load may be off by `margin`, in either direction."""

    load: int
    ram: int
    margin: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Remaining:
    """The part of a full build's graph that a selective build has.

    seen:    its nodes, as a mask
    shrunk:  node → bytes that it loses compared with the full build
    margin:  bytes by which the total may be off
    roots:   nodes that are kept unconditionally
    without: nodes that it lacks, as a mask
    cut:     mask of the edges that it lacks
    tables:  tables of bodies that it lacks
    """

    seen: Bool
    shrunk: dict[int, int]
    margin: int
    roots: Int
    without: Bool
    cut: Bool
    tables: Int


class Predictor:
    """Predict the selective builds of one full build.

    full:  measured sizes of the full build; the model only computes differences
    facts: the runtime's facts about the build
    """

    def __init__(
        self,
        graph: SectionGraph,
        full: Size,
        branches: SwitchEdges,
        facts: BuildFacts,
    ) -> None:
        """Prepare the layout of the image and the places of verbose texts."""
        self.facts = facts
        self._sizes_of = facts.calibration
        self.graph = graph
        self.full = full
        self.branches = branches
        self.layout = ImageLayout(graph)
        self._table = _registered(graph, facts.class_registrar)
        self._full_sizes = self.layout.sizes(live(graph))
        nodes = graph.nodes
        self._verbose = np.zeros(len(nodes), bool)
        self._verbose[nodes_of_texts(graph, facts.verbose_texts)] = True
        self._messages = np.flatnonzero(
            self._verbose[graph.edges.target] & nodes.is_exec[graph.edges.source]
        )
        self._features = FeaturePrices(graph, facts)
        self._last: tuple[Kept, Remaining] | None = None
        handlers = (facts.handler, f"_{facts.handler}")  # symbols of Mach-O have an underscore
        self.handler = np.array(
            [i for i in range(nodes.sections) if graph.symbol_of(i) in handlers], np.int64
        )

    @cached_property
    def operators(self) -> frozenset[str]:
        """Names of all operators of the full build."""
        return frozenset(name for name in self._table if "::" in name)

    @cached_property
    def classes(self) -> frozenset[str]:
        """Names of all custom classes of the full build."""
        return frozenset(name for name in self._table if "::" not in name)

    def size(self, kept: Kept) -> Size:
        """Predict the sizes of a build that keeps these parts."""
        return self._size(kept)[0]

    def _size(self, kept: Kept) -> tuple[Size, UngraphedBytes]:
        """Predict the sizes, and return what left-out features take beside their functions."""
        found = self.remaining(kept)
        seen = self._without(found, self._features.gone(kept.features))
        sizes = self.layout.sizes(seen, found.shrunk)
        size = self._difference(sizes, found.margin)
        linked = 0
        if seen is not found.seen:
            linked = self.load_less(self.layout.sizes(found.seen, found.shrunk), sizes)
        rest = self._features.rest(kept.features, found.seen, seen, linked=linked)
        return Size(size.load - rest.load, size.ram, size.margin + rest.slack), rest

    def linked(self, functions: Collection[str]) -> int:
        """Return the loaded bytes of the full build that the linker would drop without functions.

        functions: mangled names
        """
        found = self.remaining(Kept())
        seen = self._without(found, self._features.functions(functions))
        return self.load_less(self._full_sizes, self.layout.sizes(seen, found.shrunk))

    def _without(self, found: Remaining, gone: Int) -> Bool:
        """Return the nodes that remain without some functions."""
        if not len(gone):
            return found.seen
        without = found.without.copy()
        without[gone] = True
        return found.seen & reachable(self.graph, found.roots, without=without, cut=found.cut)

    def feature_costs(self, kept: Kept) -> tuple[FeatureCost, ...]:
        """Price every build feature in an image, present or not."""
        names = self.facts.features.keys() | (kept.features or set())
        chosen = frozenset(names if kept.features is None else kept.features)

        @functools.cache  # half of the sizes are the image's own
        def size(features: frozenset[str]) -> tuple[Size, UngraphedBytes]:
            return self._size(replace(kept, features=features))

        return tuple(self._feature_cost(name, chosen, size) for name in sorted(names))

    def _feature_cost(
        self,
        name: str,
        kept: frozenset[str],
        size: Callable[[frozenset[str]], tuple[Size, UngraphedBytes]],
    ) -> FeatureCost:
        """Price one feature. kept: all that the image has; size: the sizes with some features."""
        is_kept = name in kept
        there, rest_there = size(kept | {name})
        gone, rest_gone = size(kept - {name})
        marks = self.facts.features.get(name)
        if marks is None or not marks.load or self._sizes_of.feature is None:
            return FeatureCost(name, is_kept, None)
        price = there.load - gone.load
        is_messages = name == self.facts.verbose_feature
        rest = price if is_messages else rest_gone.load - rest_there.load
        slack = self._features.slack(rest, price - rest)
        return FeatureCost(name, is_kept, PredictedSaving(price, price - slack, price + slack))

    def remaining(self, kept: Kept) -> Remaining:
        """Return the part of the graph that remains."""
        # A prediction asks for one selection with and without each feature.
        linked = replace(kept, features=None)
        if self._last is None or self._last[0] != linked:
            self._last = linked, self._linked(linked)
        found = self._last[1]
        if kept.features is None or self.facts.verbose_feature in kept.features:
            return found
        shrunk = dict(found.shrunk)
        for source in self.graph.edges.source[self._messages].tolist():
            shrunk[source] = shrunk.get(source, 0) + self._sizes_of.message_code
        return replace(found, seen=found.seen & ~self._verbose, shrunk=self._at_most(shrunk))

    def _at_most(self, shrunk: Mapping[int, int]) -> dict[int, int]:
        """Limit the bytes that each function loses to its size."""
        size = self.graph.nodes.size
        return {node: min(less, int(size[node])) for node, less in shrunk.items()}

    def _linked(self, kept: Kept) -> Remaining:
        """Return the part of the graph that remains with all features."""
        graph = self.graph
        what = self.unselected(kept)
        shrunk = dict(what.shrunk)
        cut, margin = np.zeros(len(graph.edges.target), bool), 0
        roots = graph.roots
        tables: Int = np.zeros(0, np.int64)
        if kept.dtypes is not None:
            before = reachable(graph, roots, without=what.gone)
            gone = self.branches.is_unselected(kept.dtypes)
            cut |= self.branches.edges_gone(gone, len(cut))
            self._cut_emptied(gone, before, cut, shrunk)
            self._cut_all_guarded(kept.dtypes, cut, shrunk)
            margin = self._margin(kept.dtypes, before)
            tables = self._without_tables(gone, before, shrunk)
            if margin:
                roots = np.concatenate([roots, self.handler])
        seen = reachable(graph, roots, without=what.gone, cut=cut)
        seen[tables] = False
        return Remaining(seen, self._at_most(shrunk), margin, roots, what.gone, cut, tables)

    def unselected(self, kept: Kept) -> Unselected:
        """Return the code that disappears with entries that are not selected."""
        gone = [
            node
            for name, nodes in self._table.items()
            if not _is_in(name, kept.operators if "::" in name else kept.classes)
            for node in nodes
        ]
        return without_entries(self.graph, gone)

    def _cut_emptied(self, gone: Bool, seen: Bool, cut: Bool, shrunk: dict[int, int]) -> None:
        """Cut the jump tables of switches without branches, and the code between their cases.

        gone: mask of the omitted branches
        """
        branches, edges = self.branches, self.graph.edges
        touched = np.zeros(len(seen), bool)
        touched[branches.holder[gone]] = True
        touched[branches.holder[~gone]] = False
        direct = branches.table < 0
        for holder in np.flatnonzero(touched & seen).tolist():
            places = edges.offset[branches.edge[(branches.holder == holder) & direct]]
            if not len(places):
                continue
            first, last = int(places.min()) - self._sizes_of.switch_head, int(places.max())
            low, high = int(edges.start[holder]), int(edges.start[holder + 1])
            # The switch refers to its jump table just before the first case. Code after the switch
            # may be reached without it.
            table = ~self.graph.nodes.is_exec[edges.target[low:high]] & (
                edges.offset[low:high] < first + self._sizes_of.switch_head
            )
            cut[low:high] |= table & (edges.offset[low:high] >= first - self._sizes_of.switch_head)
            shrunk[holder] = shrunk.get(holder, 0) + last - first

    def _cut_all_guarded(
        self, dtypes: Mapping[str, Collection[str]], cut: Bool, shrunk: dict[int, int]
    ) -> None:
        """Cut the code that needs a dtype of a tag without any."""
        for tag, guarded in self.branches.guarded.items():
            if not dtypes.get(tag):
                for node, targets in guarded:
                    self._cut_guarded(node, targets, cut, shrunk)

    def _margin(self, dtypes: Mapping[str, Collection[str]], seen: Bool) -> int:
        """Return the bytes by which the code of the remaining switches may be off."""
        branches = self.branches
        # A branch that only one of two tags omits may be missing.
        doubtful = np.zeros(len(seen), bool)
        doubtful[branches.holder[branches.is_unselected(dtypes, by_any=True)]] = True
        count = int((doubtful & seen).sum())
        return (self._sizes_of.unseen if count else 0) + self._sizes_of.per_switch * count

    def _without_tables(self, gone: Bool, seen: Bool, shrunk: dict[int, int]) -> Int:
        """Return the tables of bodies that are no longer tables.

        A case that ends in the handler has no value for a table, so the function jumps instead.
        """
        branches = self.branches
        in_table = (branches.table >= 0) & seen[branches.holder]
        lost = _pairs(branches.table, branches.holder, in_table & gone)
        for table, holder in sorted(lost):
            here = (branches.table == table) & (branches.holder == holder)
            if not gone[here].all():
                shrunk[holder] = (
                    shrunk.get(holder, 0)
                    - self._sizes_of.table_code
                    - self._sizes_of.jump * int(here.sum())
                )
        kept = _pairs(branches.table, branches.holder, in_table) - lost
        tables = {table for table, _ in lost} - {table for table, _ in kept}
        return np.array(sorted(tables), np.int64)

    def _cut_guarded(
        self, node: int, targets: frozenset[int], cut: Bool, shrunk: dict[int, int]
    ) -> None:
        """Cut the code from the first call into the guarded part to the last."""
        edges = self.graph.edges
        low, high = int(edges.start[node]), int(edges.start[node + 1])
        inside = np.isin(edges.target[low:high], list(targets))
        if inside.any():
            first, last = edges.offset[low:high][inside].min(), edges.offset[low:high][inside].max()
            cut[low:high] |= (edges.offset[low:high] >= first) & (edges.offset[low:high] <= last)
            shrunk[node] = shrunk.get(node, 0) + int(last - first)

    def load_less(self, before: dict[str, int], after: dict[str, int]) -> int:
        """Return the loaded bytes by which one layout is smaller than another."""
        outputs = self.layout.outputs
        return sum(
            before.get(name, 0) - after.get(name, 0)
            for name in before.keys() | after.keys()
            if name not in outputs or not outputs[name].is_nobits
        )

    def _difference(self, sizes: dict[str, int], margin: int) -> Size:
        written = (name for name, output in self.layout.outputs.items() if output.is_write)
        ram = sum(self._full_sizes.get(n, 0) - sizes.get(n, 0) for n in (*written, *_RAM))
        load = self.load_less(self._full_sizes, sizes)
        return Size(self.full.load - load, self.full.ram - ram, margin)


def _registered(graph: SectionGraph, class_registrar: str) -> dict[str, list[int]]:
    """Map the names of operators and custom classes to their table entries.

    A name without a scope is a class if its object calls the function that registers classes. Other
    tables also pair names with functions: those of a C library's character sets.
    """
    calls = [class_registrar.encode() in name for name in graph.symbols.names]
    edges, of_object = graph.edges, graph.nodes.object
    named = np.flatnonzero(edges.symbol >= 0)
    named = named[np.array(calls, np.bool_)[edges.symbol[named]]]
    registering = set(of_object[edges.source[named]].tolist())
    found = {
        name: [node for node in nodes if "::" in name or int(of_object[node]) in registering]
        for name, nodes in operators(graph).items()
    }
    return {name: nodes for name, nodes in found.items() if nodes}


def _is_in(name: str, chosen: Collection[str] | None) -> bool:
    return chosen is None or name in chosen


def _pairs(first: Int, second: Int, where: Bool) -> set[tuple[int, int]]:
    """Return the distinct pairs of two columns' entries at some places."""
    return set(zip(first[where].tolist(), second[where].tolist(), strict=True))
