"""Find the references that keep a subject in the image, and the bytes that cutting each frees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.linkgraph.costs import costs_of
from sizeguard.linkgraph.edge_words import how_kept
from sizeguard.linkgraph.graph import ENTRY, FDE, IMPORT, STRING, SectionGraph
from sizeguard.linkgraph.live import Bool, live, reachable
from sizeguard.linkgraph.merged_functions import coarse_objects
from sizeguard.linkgraph.subjects import GraphSubject
from sizeguard.linkgraph.why_result import Chain, Why, WhyStep


def why(graph: SectionGraph, subject: GraphSubject, limit: int = 10) -> Why:
    """Explain why a subject is kept, with the chains of at most `limit` roots (0: all).

    A subject that the linker removes has no chain.
    """
    coarse = coarse_objects(graph)
    kept = live(graph)
    costs = costs_of(graph).load
    wanted = np.zeros(len(graph.nodes), bool)
    wanted[list(subject.nodes)] = True
    size = int(costs[wanted & kept].sum())
    if not (wanted & kept).any():
        return Why(subject.name, False, 0, 0, 0, (), coarse)
    left = reachable(graph, graph.roots, without=wanted)
    frees = int(costs[kept & ~left].sum())
    step_to, length = _towards(graph, np.flatnonzero(wanted & kept))
    roots = [int(root) for root in graph.roots if length[root] >= 0]
    roots.sort(key=lambda root: (int(length[root]), root))
    cuts = _Cuts(graph, kept, costs)
    inner = _inner_symbols(graph, subject)
    chains = tuple(_chain(cuts, root, step_to, length, inner) for root in roots[: limit or None])
    aliases: dict[str, None] = {}
    if subject.kind in ("symbol", "kernel"):
        for node in subject.nodes:
            if node not in inner:
                aliases |= dict.fromkeys(graph.aliases_of(node))
    sources = graph.edges.source
    into = kept[sources] & ~wanted[sources] & (wanted & kept)[graph.edges.target]
    return Why(
        subject.name,
        True,
        size,
        frees,
        len(roots),
        chains,
        coarse,
        tuple(aliases),
        is_root=bool(wanted[graph.roots].any()),
        is_referred=bool(into.any()),
    )


@dataclass(slots=True, eq=False)
class _Cuts:
    """Bytes that cutting an edge frees, computed once for each edge, since chains share edges."""

    graph: SectionGraph
    kept: Bool
    costs: Int
    found: dict[int, int] = field(default_factory=dict)

    def freed_by(self, edge: int, source: int) -> int:
        """Return the bytes that are freed if no edge of `source` keeps the edge's target."""
        if edge not in self.found:
            remains = _without(self.graph, source, int(self.graph.edges.target[edge]))
            self.found[edge] = int(self.costs[self.kept & ~remains].sum())
        return self.found[edge]


def _inner_symbols(graph: SectionGraph, subject: GraphSubject) -> dict[int, str]:
    """Return the subject's symbols that do not begin their section, by node.

    Without -ffunction-sections, a section has many functions, and the first one names it.
    """
    found = {}
    for node in subject.nodes if subject.symbols else ():
        if subject.symbols.isdisjoint((graph.symbol_of(node), *graph.aliases_of(node))):
            names = graph.symbols_in(node)
            found[node] = next(name for name in names if name in subject.symbols)
    return found


def _chain(cuts: _Cuts, root: int, step_to: Int, length: Int, inner: Mapping[int, str]) -> Chain:
    """Follow a shortest path from a root to a goal.

    inner: names of goals for chains of one step; a longer chain ends with the name that the last
           reference uses, which may be another function of the same section
    """
    graph = cuts.graph
    node = root
    steps = [_step(graph, root, "", 0, -1)]
    while length[node] > 0:
        edge = int(step_to[node])
        following = int(graph.edges.target[edge])
        how = how_kept(graph, node, edge)
        steps.append(_step(graph, following, how, cuts.freed_by(edge, node), edge))
        node = following
    if node == root and root in inner:
        steps[0] = replace(steps[0], symbol=inner[root])
    return Chain(graph.root_kind[root], tuple(steps))


def _towards(graph: SectionGraph, goals: Int) -> tuple[Int, Int]:
    """Find the first edge of a shortest path to a goal, and the path's length, for each node.

    Both are -1 for nodes that do not reach a goal.
    """
    edges = graph.edges
    source = edges.source
    order = np.argsort(edges.target, kind="stable")
    into = np.searchsorted(edges.target[order], np.arange(len(graph.nodes) + 1))
    step_to = np.full(len(graph.nodes), -1, np.int64)
    length = np.full(len(graph.nodes), -1, np.int64)
    length[goals] = 0
    front = goals.tolist()
    while front:
        following = []
        for node in front:
            for edge in order[into[node] : into[node + 1]].tolist():
                origin = int(source[edge])
                if length[origin] < 0:
                    length[origin] = length[node] + 1
                    step_to[origin] = edge
                    following.append(origin)
        front = following
    return step_to, length


def _without(graph: SectionGraph, source: int, target: int) -> Bool:
    """Return which nodes stay if `source` does not keep `target`.

    The source is replaced by a copy whose edges avoid the target.
    """
    edges = graph.edges
    low, high = int(edges.start[source]), int(edges.start[source + 1])
    barred = np.zeros(len(graph.nodes), bool)
    barred[source] = True
    roots = graph.roots
    seen = reachable(graph, roots[roots != source], without=barred)
    others = [t for t in edges.target[low:high].tolist() if t != target and t != source]
    return seen | reachable(graph, others, without=barred) | barred


def _step(graph: SectionGraph, node: int, how: str, frees: int, edge: int) -> WhyStep:
    nodes = graph.nodes
    kind = int(nodes.kind[node])
    symbol = ""
    if edge >= 0 and graph.edges.symbol[edge] >= 0:
        symbol = _named(graph, int(graph.edges.symbol[edge]), node)
    if not symbol and node < nodes.sections:
        symbol = graph.symbol_of(node)
    if kind in (ENTRY, STRING, IMPORT):
        symbol = graph.names[node]
    section = (
        ".eh_frame"
        if kind == FDE
        else graph.names[graph.section_of(node) if kind == ENTRY else node]
    )
    label = graph.objects[int(nodes.object[node])] if nodes.object[node] >= 0 else ""
    return WhyStep(node, section, symbol, label, how, frees)


def _named(graph: SectionGraph, symbol: int, node: int) -> str:
    """Return the name that a relocation uses, if it is one of the node's names."""
    if graph.symbols.node[symbol] == node or graph.symbols.is_global[symbol]:
        return graph.symbols.names[symbol].decode("utf-8", "backslashreplace")
    return ""
