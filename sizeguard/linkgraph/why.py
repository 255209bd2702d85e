"""Turns a section graph and a subject into why the subject is there: a chain from each root, and what cutting each link frees."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.linkgraph.coarse import coarse_objects
from sizeguard.linkgraph.costs import costs_of
from sizeguard.linkgraph.edges import how_kept
from sizeguard.linkgraph.graph import ENTRY, FDE, IMPORT, STRING, SectionGraph
from sizeguard.linkgraph.live import live, reachable
from sizeguard.linkgraph.subjects import Subject
from sizeguard.linkgraph.why_result import Chain, Step, Why


def why(graph: SectionGraph, subject: Subject, limit: int = 10) -> Why:
    """Explain a subject, with the chains of at most `limit` roots (0: all). A subject that is gone has no chain."""
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
    edges = graph.edges
    step_to, length = _towards(graph, np.flatnonzero(wanted & kept))
    roots = [int(root) for root in graph.roots if length[root] >= 0]
    roots.sort(key=lambda root: (int(length[root]), root))
    cut: dict[int, int] = {}

    def freed_by(edge: int, source: int) -> int:
        """What goes if the source no longer keeps the target, by whatever it names there."""
        if edge not in cut:
            remains = _without(graph, source, int(edges.target[edge]))
            cut[edge] = int(costs[kept & ~remains].sum())
        return cut[edge]

    chains = []
    for root in roots[: limit or None]:
        node = root
        steps = [_step(graph, root, "", 0, -1)]
        while length[node] > 0:
            edge = int(step_to[node])
            following = int(edges.target[edge])
            steps.append(_step(graph, following, how_kept(graph, node, edge), freed_by(edge, node), edge))
            node = following
        chains.append(Chain(graph.root_kind[root], tuple(steps)))
    return Why(subject.name, True, size, frees, len(roots), tuple(chains), coarse)


def _towards(graph: SectionGraph, goals: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Of each node the edge that begins a shortest way to a goal, and the way's length; -1 where there is none."""
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


def _without(graph: SectionGraph, source: int, target: int) -> npt.NDArray[np.bool_]:
    """What stays if `source` does not keep `target`: a second copy of the source whose edges avoid it."""
    edges = graph.edges
    low, high = int(edges.start[source]), int(edges.start[source + 1])
    barred = np.zeros(len(graph.nodes), bool)
    barred[source] = True
    is_kept_by_root = graph.roots
    seen = reachable(graph, is_kept_by_root[is_kept_by_root != source], without=barred)
    others = [t for t in edges.target[low:high].tolist() if t != target and t != source]
    return seen | reachable(graph, others, without=barred) | barred


def _step(graph: SectionGraph, node: int, how: str, frees: int, edge: int) -> Step:
    nodes = graph.nodes
    kind = int(nodes.kind[node])
    symbol = ""
    if edge >= 0 and graph.edges.symbol[edge] >= 0:
        symbol = _named(graph, int(graph.edges.symbol[edge]), node)
    if not symbol and node < nodes.sections:
        symbol = graph.symbol_of(node)
    if kind in (ENTRY, STRING, IMPORT):
        symbol = graph.names[node]
    section = ".eh_frame" if kind == FDE else graph.names[graph.section_of(node) if kind == ENTRY else node]
    label = graph.objects[int(nodes.object[node])] if nodes.object[node] >= 0 else ""
    return Step(node, section, symbol, label, how, frees)


def _named(graph: SectionGraph, symbol: int, node: int) -> str:
    """The name that a relocation uses, if it is a name of that node."""
    if graph.symbols.node[symbol] == node or graph.symbols.is_global[symbol]:
        return graph.symbols.names[symbol].decode("utf-8", "backslashreplace")
    return ""
