"""Check which nodes of a section graph are in the image, and that files belong to one link."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sizeguard.base.errors import InconclusiveError
from sizeguard.builds.open_build import Files
from sizeguard.formats.linkmap.link_map import file_key, nearest_first
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import Bool, live
from sizeguard.linkgraph.subjects import GraphSubject
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.gather_evidence import gather
from sizeguard.verify.evidence.placement import Node


def check_one_link(files: Files) -> Evidence:
    """Check that all files belong to one link, by the bytes of the objects in the image.

    Raises InputError for damaged files, InconclusiveError for files of another link.
    """
    evidence = gather(files)
    if evidence.link_map is None and not evidence.has_lto:
        _check_named(evidence)
    return evidence


def _check_named(evidence: Evidence) -> None:
    """Check without a map that each named function in the image equals an object's definition."""
    placed = evidence.placement.address
    wanted: dict[str, str] = {}
    found: set[str] = set()
    for number, file in enumerate(evidence.own_files()):
        for definition in file.definitions:
            name, index = definition.symbol, definition.section
            section = file.elf.sections[index]
            if name in evidence.symbols and section.is_executable and section.size:
                wanted.setdefault(name, file.label)
                if (number, index) in placed:
                    found.add(name)
    for name, label in wanted.items():
        if name not in found:
            raise InconclusiveError(
                f"{label} is of another build: its {name} differs from the one in"
                f" {evidence.image.path}; pass the objects of this image"
            )


def check_presence(evidence: Evidence, graph: SectionGraph, subject: GraphSubject) -> None:
    """Check that the image contains a subject if, and only if, the graph keeps it.

    Raises InconclusiveError if they disagree, since the graph then belongs to another link.
    """
    nodes = subject.nodes
    is_live = bool(live(graph)[list(nodes)].any())
    is_there = is_present(evidence, graph, nodes)
    if is_there is None or is_there == is_live:
        return
    where = "is in" if is_there else "is not in"
    is_unknown = is_there and evidence.record is None
    raise InconclusiveError(
        f"{subject.name} {where} {evidence.image.path}, but the objects and options of the link"
        f" {'keep' if is_live else 'remove'} it: they belong to another link"
        f"{', or an option that is not recorded keeps it' if is_unknown else ''}"
    )


def check_not_merged(evidence: Evidence, graph: SectionGraph, subject: GraphSubject) -> None:
    """Check that the linker did not merge the subject with another symbol that has the same code.

    Raises InconclusiveError if it did (--icf): the graph keeps both, but the image has only one.
    """
    is_live = live(graph)
    for node in sorted(subject.nodes):
        other = merged_with(evidence, graph, graph.section_of(node), is_live)
        if other is not None:
            name = graph.symbol_of(other) or graph.objects[int(graph.nodes.object[other])]
            raise InconclusiveError(
                f"{subject.name} has the same code as {name}, and the linker merged them:"
                " the bytes that a removal frees are unknown"
            )


def merged_with(evidence: Evidence, graph: SectionGraph, node: int, is_live: Bool) -> int | None:
    """Return a live section with the same code as a node; None unless the image has only one.

    is_live: mask of the nodes that the linker keeps
    """
    placed, files = evidence.placement, evidence.objects.files
    own = _section(evidence, graph, node)
    if own is None or not placed.has_map or not graph.nodes.is_exec[node]:
        return None
    is_alike = is_live & graph.nodes.is_exec & (graph.nodes.size == graph.nodes.size[node])
    if not graph.nodes.size[node] or not is_alike[node]:
        return None
    content = files[own[0]].elf.content(placed.section(own))
    for other in np.flatnonzero(is_alike[: graph.nodes.sections]).tolist():
        section = _section(evidence, graph, other)
        if section is None or (section in placed.address) == (own in placed.address):
            continue
        if files[section[0]].elf.content(placed.section(section)) == content:
            return int(other)
    return None


def is_present(evidence: Evidence, graph: SectionGraph, nodes: Iterable[int]) -> bool | None:
    """Return whether the image contains one of the nodes; None if the files do not show it."""
    placed = evidence.placement
    known = True
    for node in nodes:
        section = _section(evidence, graph, graph.section_of(node))
        if section is not None and section in placed.address:
            return True
        if section is None or not placed.section(section).size:
            known = False
    return False if known and placed.has_map else None


def _section(evidence: Evidence, graph: SectionGraph, node: int) -> Node | None:
    """Return the section of the evidence for a node of the graph."""
    if node < 0 or graph.nodes.object[node] < 0:
        return None
    label = graph.objects[int(graph.nodes.object[node])]
    key = file_key(label)
    files = evidence.objects.files
    same = [n for n in range(len(files)) if file_key(files[n].label) == key]
    name = graph.symbol_of(node)
    for number in nearest_first(same, lambda n: files[n].label, label):
        for definition in files[number].definitions:
            if name and definition.symbol in (name, name.removeprefix("_")):
                return number, definition.section
        if not name and graph.linker != "ld64.lld":
            return number, int(graph.nodes.index[node])
    return None
