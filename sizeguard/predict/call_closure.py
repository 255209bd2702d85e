"""Call graph of operators: which operators can call which others through the dispatcher.

Calls are found by the operator names that code passes to the dispatcher.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError, listed
from sizeguard.columns.distinct import distinct
from sizeguard.linkgraph.graph import ENTRY, PART, RELOCATION, START_STOP, SectionGraph
from sizeguard.linkgraph.live import Bool, reachable
from sizeguard.linkgraph.merged_functions import coarse_objects
from sizeguard.linkgraph.subjects import operators
from sizeguard.names.demangle import demangle
from sizeguard.names.short import qualified_name
from sizeguard.operators.name import operator_of
from sizeguard.predict.calls_by_name import Sites, dispatch_sites
from sizeguard.predict.reach_result import Unknown
from sizeguard.runtimes.build_facts import Dispatch
from sizeguard.selection.op_deps import OpDeps

# Roots whose code runs for any model.
_AT_LOAD = ("init_array", "preinit_array", "init", "entry")
_INITIALIZERS = _AT_LOAD[:3]


@dataclass(frozen=True, eq=False)
class Dependencies:
    """Calls between operators, as read from a full build.

    calls:   operator or custom class → operators that its code names to the dispatcher
    at_load: operators that static initializers and the program itself call, for any model
    unknown: calls whose name is not constant, by operator; calls of static initializers under ""
    """

    calls: Mapping[str, frozenset[str]]
    at_load: frozenset[str]
    unknown: Mapping[str, tuple[Unknown, ...]]

    def closure(self, roots: Iterable[str]) -> frozenset[str]:
        """Return the roots, the operators called at load, and all that these call."""
        return frozenset(self.callers(roots))

    def callers(self, roots: Iterable[str]) -> dict[str, str]:
        """Map each operator of the closure to its caller on a shortest path from a root.

        The caller is "" for roots and for operators called at load.
        """
        return OpDeps(self.calls, self.at_load).callers(roots)


@dataclass(frozen=True, eq=False)
class CallGraph:
    """Section graph whose edges are followed only where code can run.

    `reached` stops where an operator is called through the dispatcher.
    """

    graph: SectionGraph
    sites: Sites

    @cached_property
    def _entries(self) -> Bool:
        return np.asarray(self.graph.nodes.kind == ENTRY)

    @cached_property
    def _cut(self) -> Bool:
        """Edges that do not run code: groups, unwind tables, adjacent strings."""
        edges = self.graph.edges
        runs = np.isin(edges.reason, (RELOCATION, START_STOP)) | (
            (edges.reason == PART) & self._entries[edges.target]
        )
        return np.asarray(~runs)

    @cached_property
    def _barred(self) -> Bool:
        barred = self._entries.copy()
        barred[list(self.sites.dispatchers)] = True
        return barred

    def reached(self, nodes: list[int]) -> Bool:
        """Return a mask of the nodes that run when the given ones run.

        Entries of registration tables are not passed, since each is a separate operator.
        """
        barred = self._barred.copy()
        barred[nodes] = False
        return reachable(self.graph, nodes, without=barred, cut=self._cut)

    def called(self, reached: Bool, *, tables: bool) -> tuple[frozenset[str], tuple[Unknown, ...]]:
        """Return the operators that reached code names to the dispatcher, and calls without a name.

        tables: whether to include operators taken out of a table, as initializers do to register
            them.
        """
        graph = self.graph
        names: set[str] = set()
        unknown = set()
        for node, site in self.sites.by_node.items():
            if reached[node]:
                names |= site.names
                if not site.is_constant:
                    unknown.add(
                        Unknown(_shown(graph, node), graph.objects[int(graph.nodes.object[node])])
                    )
        if tables:
            edges = graph.edges
            taken = (
                reached[edges.source]
                & self._entries[edges.target]
                & ~self._cut
                & ~reached[edges.target]
            )
            names |= {
                name
                for name in (
                    operator_of(graph.names[i]) for i in distinct(edges.target[taken]).tolist()
                )
                if "::" in name
            }
        return frozenset(names), tuple(sorted(unknown))


def call_graph(graph: SectionGraph, dispatch: Dispatch) -> CallGraph:
    """Build the call graph of a section graph.

    Raises InconclusiveError if a kernel, or a function that calls operators, is in an object
    compiled without -ffunction-sections.
    """
    calls = CallGraph(graph, dispatch_sites(graph, dispatch))
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
    # Calls of the program itself without a constant name are those of the model it runs.
    _, unknown[""] = calls.called(calls.reached(_roots(graph, _INITIALIZERS)), tables=False)
    return Dependencies(found, at_load, {owner: where for owner, where in unknown.items() if where})


def closure(graph: SectionGraph, dispatch: Dispatch, roots: Iterable[str]) -> frozenset[str]:
    """Return the operators and all that they call, directly or not."""
    return dependencies(call_graph(graph, dispatch)).closure(roots)


def _roots(graph: SectionGraph, kinds: tuple[str, ...]) -> list[int]:
    return [node for node, kind in graph.root_kind.items() if kind in kinds]


def _shown(graph: SectionGraph, node: int) -> str:
    symbol = graph.symbol_of(node)
    return qualified_name(demangle(symbol)) if symbol else graph.names[node]


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
        if (
            label in labels
            and nodes.is_exec[node]
            and graph.names[node] in (".text", "__TEXT,__text")
        ):
            calls_one = node in calls.sites.dispatchers or bool(
                calls.reached([node])[holders].any()
            )
            if node in kernels or calls_one:
                wrong.add(label)
    if wrong:
        raise InconclusiveError(
            "compiled without -ffunction-sections, so calls cannot be assigned to functions:"
            f" {listed(sorted(wrong), 5)}"
        )
