"""Find objects whose functions share one section, so that they are kept or removed together."""

from __future__ import annotations

import numpy as np

from sizeguard.formats.elf import STT_FUNC
from sizeguard.linkgraph.graph import SectionGraph


def coarse_objects(graph: SectionGraph) -> tuple[str, ...]:
    """List the objects that were compiled without -ffunction-sections.

    These have at least two functions at different places of one section .text.
    """
    symbols, nodes = graph.symbols, graph.nodes
    chosen = np.flatnonzero((symbols.type == STT_FUNC) & (symbols.node >= 0) & (symbols.size > 0))
    places: dict[int, set[int]] = {}
    for node, offset in zip(
        symbols.node[chosen].tolist(), symbols.offset[chosen].tolist(), strict=True
    ):
        if nodes.is_alloc[node] and graph.names[node] == ".text":
            places.setdefault(node, set()).add(offset)
    objects = {int(nodes.object[node]) for node, offsets in places.items() if len(offsets) > 1}
    return tuple(graph.objects[k] for k in sorted(objects))
