"""Turns a section graph into which operators each operator can call through the dispatcher, by the names that its code hands over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sizeguard.errors import InconclusiveError
from sizeguard.formats.demangle import demangle
from sizeguard.linkgraph.coarse import coarse_objects
from sizeguard.linkgraph.dispatch import BY_NAME, Sites, dispatch_sites
from sizeguard.linkgraph.graph import ENTRY, PART, RELOCATION, START_STOP, SectionGraph
from sizeguard.linkgraph.live import Bool, reachable
from sizeguard.linkgraph.subjects import operator_of, operators, short_name

# Roots whose code runs whatever the model.
_AT_LOAD = ("init_array", "preinit_array", "init", "entry")
_INITIALIZERS = _AT_LOAD[:3]


@dataclass(frozen=True, slots=True, order=True)
class Unknown:
    """A function that calls an operator whose name is not constant, and its object."""

    function: str
    object: str


@dataclass(frozen=True, eq=False)
class Dependencies:
    """Who calls whom.

    calls:   of each operator, and of each custom class, the operators that its code names to the dispatcher
    at_load: operators that static initializers and the program itself call, whatever the model
    unknown: the calls whose name is not constant, by operator; those of static initializers at ""
    """

    calls: Mapping[str, frozenset[str]]
    at_load: frozenset[str]
    unknown: Mapping[str, tuple[Unknown, ...]]

    def closure(self, roots: Iterable[str]) -> frozenset[str]:
        """The roots, what is called at load, and all that these call, directly or not."""
        return frozenset(self.callers(roots))

    def callers(self, roots: Iterable[str]) -> dict[str, str]:
        """The same, each with the operator that calls it on a shortest way from a root; "" for roots and at load."""
        found = dict.fromkeys([*sorted(roots), *sorted(self.at_load)], "")
        waiting = list(found)
        for operator in waiting:
            new = [name for name in sorted(self.calls.get(operator, ())) if name not in found]
            found.update(dict.fromkeys(new, operator))
            waiting += new
        return found


@dataclass(frozen=True, eq=False)
class CallGraph:
    """A section graph seen as who runs what: `reached` stops where an operator is called through the dispatcher."""

    graph: SectionGraph
    sites: Sites

    @cached_property
    def _entries(self) -> Bool:
        return np.asarray(self.graph.nodes.kind == ENTRY)

    @cached_property
    def _cut(self) -> Bool:
        """Edges that keep, but run nothing: groups, unwind tables, strings beside strings."""
        edges = self.graph.edges
        runs = np.isin(edges.reason, (RELOCATION, START_STOP)) | ((edges.reason == PART) & self._entries[edges.target])
        return np.asarray(~runs)

    @cached_property
    def _barred(self) -> Bool:
        barred = self._entries.copy()
        barred[list(self.sites.dispatchers)] = True
        return barred

    def reached(self, nodes: list[int]) -> Bool:
        """What runs when these nodes run. Entries of tables are operators of their own."""
        barred = self._barred.copy()
        barred[nodes] = False
        return reachable(self.graph, nodes, without=barred, cut=self._cut)

    def called(self, reached: Bool, *, tables: bool) -> tuple[frozenset[str], tuple[Unknown, ...]]:
        """The operators that the reached code names to the dispatcher, and the calls without a name.

        tables: also those that it takes out of a table, which initializers do to register them.
        """
        graph = self.graph
        names: set[str] = set()
        unknown = set()
        for node, site in self.sites.by_node.items():
            if reached[node]:
                names |= site.names
                if not site.is_constant:
                    unknown.add(Unknown(_shown(graph, node), graph.objects[int(graph.nodes.object[node])]))
        if tables:
            edges = graph.edges
            taken = reached[edges.source] & self._entries[edges.target] & ~self._cut & ~reached[edges.target]
            names |= {name for name in (operator_of(graph.names[i]) for i in np.unique(edges.target[taken]).tolist()) if "::" in name}
        return frozenset(names), tuple(sorted(unknown))


def call_graph(graph: SectionGraph, dispatchers: Iterable[str] = BY_NAME) -> CallGraph:
    """Raises InconclusiveError for kernels, or functions that call operators, in objects without -ffunction-sections."""
    calls = CallGraph(graph, dispatch_sites(graph, dispatchers))
    _check_sections(calls)
    return calls


def dependencies(calls: CallGraph) -> Dependencies:
    """Walk from each table entry to the dispatcher calls that it reaches."""
    graph = calls.graph
    found: dict[str, frozenset[str]] = {}
    unknown: dict[str, tuple[Unknown, ...]] = {}
    for owner, nodes in operators(graph).items():
        found[owner], unknown[owner] = calls.called(calls.reached(nodes), tables=True)
    at_load, _ = calls.called(calls.reached(_roots(graph, _AT_LOAD)), tables=False)
    # What the program itself calls by names that are not constant are a model's own operators.
    _, unknown[""] = calls.called(calls.reached(_roots(graph, _INITIALIZERS)), tables=False)
    return Dependencies(found, at_load, {owner: where for owner, where in unknown.items() if where})


def closure(graph: SectionGraph, roots: Iterable[str]) -> frozenset[str]:
    """The operators and all that they call, directly or not."""
    return dependencies(call_graph(graph)).closure(roots)


def _roots(graph: SectionGraph, kinds: tuple[str, ...]) -> list[int]:
    return [node for node, kind in graph.root_kind.items() if kind in kinds]


def _shown(graph: SectionGraph, node: int) -> str:
    symbol = graph.symbol_of(node)
    return short_name(demangle(symbol)) if symbol else graph.names[node]


def _check_sections(calls: CallGraph) -> None:
    graph = calls.graph
    labels = set(coarse_objects(graph))
    if not labels:
        return
    nodes, edges = graph.nodes, graph.edges
    of_entries = edges.target[(nodes.kind == ENTRY)[edges.source] & (edges.reason == RELOCATION)]
    kernels = set(of_entries[nodes.is_exec[of_entries]].tolist())
    holders = list(calls.sites.by_node)
    wrong = set()
    for node in range(nodes.sections):
        label = graph.objects[int(nodes.object[node])]
        if label in labels and nodes.is_exec[node] and graph.names[node] in (".text", "__TEXT,__text"):
            calls_one = node in calls.sites.dispatchers or bool(calls.reached([node])[holders].any())
            if node in kernels or calls_one:
                wrong.add(label)
    if wrong:
        shown = ", ".join(sorted(wrong)[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        raise InconclusiveError(f"compiled without -ffunction-sections, so who calls what cannot be told: {shown}")
