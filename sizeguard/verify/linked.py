"""Turns the objects of a verification into the section graph of their link, by its record or else by what the image has of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sizeguard.formats.elf import Elf
from sizeguard.linkgraph.elf_graph import graph_of
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.inputs import Linker, LinkInputs, expand
from sizeguard.linkgraph.live import live
from sizeguard.linkgraph.lto import without_lto
from sizeguard.linkgraph.macho_graph import build_macho_graph
from sizeguard.linkgraph.objects import Object
from sizeguard.linkgraph.record import read_link
from sizeguard.linkgraph.resolve import as_placed, load
from sizeguard.linkgraph.sources import inferred
from sizeguard.verify.binary import Binary
from sizeguard.verify.macho import MachoImage
from sizeguard.verify.objects import ElfFile, Objects
from sizeguard.verify.placement import Node, Placement


@dataclass(frozen=True, eq=False)
class Linked:
    """graph: with its roots as of a link that removes what none reaches. nodes: those of sections of the objects at hand.

    reachable: what the linker must keep by its own rules, found with neither the map nor the image; None if that is not known
    """

    graph: SectionGraph
    nodes: Mapping[int, Node]
    reachable: frozenset[Node] | None


def recorded(record: Path, given: Sequence[Path], objects: Objects) -> Linked:
    """As the linker was called."""
    inputs = read_link(record)
    graph = graph_of(load(without_lto(replace(inputs, gc_sections=True), given if objects.lto else ())))
    numbers = {(str(file.path), file.member): number for number, file in enumerate(objects.files)}
    nodes = _nodes(graph, [_number(numbers, label) for label in graph.objects])
    kept = live(graph)
    reachable = frozenset(where for node, where in nodes.items() if kept[node]) if inputs.gc_sections else None
    return Linked(graph, nodes, reachable)


def dead_stripped(given: Sequence[Path], objects: Objects, placement: Placement, image: MachoImage) -> Linked:
    """Of Mach-O objects, by the rules of -dead_strip. Where atoms are there that nothing reaches, the linker was not told to strip."""
    graph = build_macho_graph(expand(given), library=not image.is_program)
    numbers = {(str(file.path), file.member): number for number, file in enumerate(objects.files)}
    nodes: dict[int, Node] = {}
    for k, label in enumerate(graph.objects):
        number = _number(numbers, label)
        first, end = int(graph.base[k]), int(graph.base[k + 1])
        nodes |= {node: (number, node - first + 1) for node in range(first, end) if number is not None}
    kept = live(graph)
    code = [node for node, where in nodes.items() if where in placement.address and graph.nodes.is_exec[node]]
    reachable = frozenset(where for node, where in nodes.items() if kept[node]) if kept[code].all() else None
    return Linked(graph, nodes, reachable)


def placed(objects: Objects, placement: Placement, image: Binary) -> Linked:
    """Of the objects that have something in the image, in the order in which they are given; of a group the copy that was placed."""
    numbers = sorted({number for number, _ in placement.address})
    sections: dict[int, set[int]] = {}
    for number, section in placement.address:
        sections.setdefault(number, set()).add(section)
    # Of 32-bit and big-endian objects there is no section graph; what is there is known all the same.
    files = [(n, f) for n in numbers if isinstance(f := objects.files[n], ElfFile) and f.elf.layout.is_64 and f.elf.layout.order == "<"]
    inputs = inferred(image, ()) if isinstance(image, Elf) else LinkInputs((), "executable", Linker("bfd", ()))
    loaded = as_placed([Object(f.path, f.member, f.elf) for _, f in files], [sections[n] for n, _ in files], inputs)
    graph = graph_of(loaded)
    return Linked(graph, _nodes(graph, [n for n, _ in files]), None)


def _number(numbers: Mapping[tuple[str, str], int], label: str) -> int | None:
    if (label, "") in numbers:  # what ThinLTO leaves has brackets in its name
        return numbers[label, ""]
    path, bracket, member = label.partition("(")
    return numbers.get((path, member.removesuffix(")"))) if bracket else None


def _nodes(graph: SectionGraph, numbers: Sequence[int | None]) -> dict[int, Node]:
    index = graph.nodes.index.tolist()
    return {
        node: (number, index[node])
        for k, number in enumerate(numbers)
        if number is not None
        for node in range(int(graph.base[k]), int(graph.base[k + 1]))
    }
