"""Find sections that --gc-sections would remove from a recorded link."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from sizeguard.builds.open_build import Files
from sizeguard.columns.texts import Int
from sizeguard.doctor.diagnosis import LOAD, SizeFinding, largest
from sizeguard.doctor.image_facts import ImageFacts
from sizeguard.doctor.own_slots import unused_slots
from sizeguard.linkgraph.costs import costs_of
from sizeguard.linkgraph.elf.elf_graph import graph_of
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.inputs.loader import load
from sizeguard.linkgraph.inputs.lto import without_lto
from sizeguard.linkgraph.inputs.recorded_link import read_link
from sizeguard.linkgraph.live import live
from sizeguard.linkgraph.merged_functions import coarse_objects

_SLACK = 64  # bytes by which alignment can change the result


def unused_sections(files: Files, facts: ImageFacts) -> SizeFinding | None:
    """Simulate the recorded link with --gc-sections.

    Raises InconclusiveError if the link cannot be read or followed.
    """
    if files.link_record is None:
        return None
    build = files.build
    kept = build.objects if build is not None and build.lto else ()
    inputs = without_lto(read_link(files.link_record), kept)
    if inputs.gc_sections or inputs.mode == "relocatable":
        return None
    before = graph_of(load(inputs))
    graph = graph_of(load(replace(inputs, gc_sections=True)))
    gone = np.flatnonzero(live(before) & ~live(graph))
    parts = _sizes_by_name(graph, gone, costs_of(before).load)
    parts.update(unused_slots(files.image, graph))
    won = sum(parts.values())
    change = facts.linker_change("--gc-sections")
    if not won or not change:
        return None
    nodes = graph.nodes
    filled = gone[nodes.is_alloc[gone] & ~nodes.is_nobits[gone] & (gone < nodes.sections)]
    padding = int((-nodes.size[filled] % np.maximum(nodes.align[filled], 1)).sum())
    coarse = coarse_objects(graph)
    lack = "1 object lacks" if len(coarse) == 1 else f"{len(coarse)} objects lack"
    compiled = facts.change(lambda toolchain: toolchain.sections)
    more = f"; {compiled}, which {lack}" if coarse and compiled else ""
    return SizeFinding(
        kind="gc-sections",
        title="linked without --gc-sections: nothing reaches these sections",
        low=max(won - _SLACK, 0),
        high=won + padding + _SLACK,
        metric=LOAD,
        evidence=largest(parts),
        parts=len(parts),
        change=change + more,
    )


def _sizes_by_name(graph: SectionGraph, nodes: Int, costs: Int) -> Counter[str]:
    """Sum the bytes of nodes by the symbol of their section, or by their own name."""
    parts = Counter[str]()
    for node in nodes[costs[nodes] != 0].tolist():
        name = graph.symbol_of(graph.section_of(node)) if graph.nodes.object[node] >= 0 else ""
        parts[name or graph.names[node]] += int(costs[node])
    return parts
