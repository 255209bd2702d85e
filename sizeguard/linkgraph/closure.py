"""Turns a section graph into which operators an operator calls through the dispatcher, by the names that its code hands over."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sizeguard.linkgraph.graph import ENTRY, STRING, SectionGraph
from sizeguard.linkgraph.live import reachable
from sizeguard.linkgraph.subjects import operator_of, operators


def called_operators(graph: SectionGraph, operator: str) -> frozenset[str]:
    """Registered operators whose schema text the operator's code reaches, itself left out. Over-approximates like the graph."""
    nodes = graph.nodes
    reached = reachable(graph, operators(graph).get(operator, []))
    names = {graph.names[i] for i in np.flatnonzero(nodes.kind == ENTRY).tolist()}
    texts = (graph.names[i] for i in np.flatnonzero(reached & (nodes.kind == STRING)).tolist())
    return frozenset(operator_of(text) for text in texts if text in names) - {operator}


def closure(graph: SectionGraph, roots: Iterable[str]) -> frozenset[str]:
    """The operators and all that they call, directly or not."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        operator = waiting.pop()
        if operator not in found:
            found.add(operator)
            waiting += called_operators(graph, operator) - found
    return frozenset(found)
