"""Section graphs made from numbers, to check laws for every graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sizeguard.linkgraph.edge_lists import EdgeLists
from sizeguard.linkgraph.graph import ENTRY, RELOCATION, GraphSymbols, Nodes, SectionGraph


# More than 40 lines: a line for each column of the nodes and the symbols.
def made_graph(
    sizes: Sequence[int],
    edges: Sequence[tuple[int, int]],
    roots: Sequence[int],
    entries: dict[int, str],
) -> SectionGraph:
    """Make a graph of sections; some are entries, each with its text."""
    count = len(sizes)
    # Sections are numbered first, parts last.
    order = [i for i in range(count) if i not in entries] + sorted(entries)
    number = {node: place for place, node in enumerate(order)}
    lists = EdgeLists()
    for k, (source, target) in enumerate(edges):
        lists.add(number[source], number[target], RELOCATION, k)
    sections = count - len(entries)
    nothing = np.zeros(count, bool)
    nodes = Nodes(
        sections=sections,
        kind=np.array([ENTRY if node in entries else 0 for node in order], np.int8),
        object=np.zeros(count, np.int32),
        index=np.arange(count, dtype=np.int32),
        offset=np.zeros(count, np.int64),
        size=np.array([sizes[node] for node in order], np.int64),
        align=np.ones(count, np.int64),
        is_alloc=~nothing,
        is_write=nothing,
        is_exec=np.array([node not in entries for node in order], bool),
        is_nobits=nothing,
        is_duplicate=nothing,
    )
    symbols = GraphSymbols(
        tuple(f"f{node}".encode() for node in order[:sections]),
        np.arange(sections, dtype=np.int32),
        np.zeros(sections, np.int64),
        nodes.size[:sections],
        np.full(sections, 2, np.int8),
        np.ones(sections, bool),
    )
    return SectionGraph(
        objects=("a.o",),
        nodes=nodes,
        names=tuple(entries.get(node, f".text.f{node}") for node in order),
        edges=lists.edges(count),
        symbols=symbols,
        root_kind={number[root]: "entry" for root in roots},
        is_pic=False,
        is_dynamic=False,
        providers={},
        linker="bfd",
    )


EMPTY_GRAPH = made_graph([], [], [], {})
