"""Limit a section graph to some of its nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sizeguard.linkgraph.graph import Edges, SectionGraph
from sizeguard.linkgraph.live import Bool


def pruned(graph: SectionGraph, kept: Bool) -> SectionGraph:
    """Return a graph of the same nodes in which only the kept ones have edges and are roots."""
    edges = graph.edges
    source = edges.source
    chosen = kept[source] & kept[edges.target]
    start = np.searchsorted(source[chosen], np.arange(len(graph.nodes) + 1)).astype(np.int64)
    return replace(
        graph,
        edges=Edges(
            start,
            edges.target[chosen],
            edges.reason[chosen],
            edges.offset[chosen],
            edges.symbol[chosen],
            edges.type[chosen],
            edges.place[chosen],
        ),
        root_kind={node: why for node, why in graph.root_kind.items() if kept[node]},
    )
