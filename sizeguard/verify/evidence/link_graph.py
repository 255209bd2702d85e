"""Make the section graph for a verification, from the link's record, else from the image."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import STB_GLOBAL, STB_LOCAL, Elf
from sizeguard.linkgraph.elf.elf_graph import graph_of
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.inputs.inferred import inferred
from sizeguard.linkgraph.inputs.link_inputs import Linker, LinkInputs, expand
from sizeguard.linkgraph.inputs.loader import as_placed, load
from sizeguard.linkgraph.inputs.lto import lto_inputs, without_lto
from sizeguard.linkgraph.inputs.objects import Object
from sizeguard.linkgraph.inputs.recorded_link import read_link
from sizeguard.linkgraph.live import live
from sizeguard.verify.evidence.object_evidence import ElfFile, ObjectFile, Objects
from sizeguard.verify.evidence.placement import Node, Placement

if TYPE_CHECKING:
    from sizeguard.verify.evidence.macho import MachoImage


@dataclass(frozen=True, eq=False)
class Linked:
    """Section graph of a link, with roots as if unreached sections were removed.

    nodes:     nodes of the sections of the given objects
    reachable: sections that the linker must keep by its own rules, found without map and image;
               None if not known
    libraries: shared libraries on the linker's command line, with those that it searches itself
    compiled:  inputs whose code the linker compiled, by LTO
    folder:    the linker's working directory; None if not known
    """

    graph: SectionGraph
    nodes: Mapping[int, Node]
    reachable: frozenset[Node] | None
    libraries: tuple[Path, ...] = ()
    compiled: tuple[Path, ...] = ()
    folder: Path | None = None


def recorded(record: Path, given: Sequence[Path], objects: Objects) -> Linked:
    """Make the graph of the recorded link."""
    inputs = read_link(record)
    used = without_lto(replace(inputs, gc_sections=True), given if objects.lto else ())
    graph = graph_of(load(used))
    names = {file.content: file.path for file in used.files}
    numbers = {
        (str(names.get(file.path, file.path)), file.member): number
        for number, file in enumerate(objects.files)
    }
    nodes = _nodes(graph, [_number(numbers, label) for label in graph.objects])
    kept = live(graph)
    reachable = (
        frozenset(where for node, where in nodes.items() if kept[node])
        if inputs.gc_sections
        else None
    )
    libraries = tuple(file.path for file in inputs.files if file.kind == "shared")
    compiled = tuple(file.path for file in lto_inputs(inputs))
    return Linked(graph, nodes, reachable, libraries, compiled, inputs.folder)


def dead_stripped(
    given: Sequence[Path], objects: Objects, placement: Placement, image: MachoImage
) -> Linked:
    """Make the graph of Mach-O objects, by the rules of -dead_strip.

    If the image has atoms that nothing reaches, the linker did not strip dead code.
    """
    from sizeguard.linkgraph.macho.macho_graph import build_macho_graph  # 10 ms, which ELF saves

    graph = build_macho_graph(expand(given), library=not image.is_program)
    numbers = {(str(file.path), file.member): number for number, file in enumerate(objects.files)}
    nodes: dict[int, Node] = {}
    for k, label in enumerate(graph.objects):
        number = _number(numbers, label)
        first, end = int(graph.base[k]), int(graph.base[k + 1])
        nodes |= {
            node: (number, node - first + 1) for node in range(first, end) if number is not None
        }
    kept = live(graph)
    code = [
        node
        for node, where in nodes.items()
        if where in placement.address and graph.nodes.is_exec[node]
    ]
    reachable = (
        frozenset(where for node, where in nodes.items() if kept[node])
        if kept[code].all()
        else None
    )
    return Linked(graph, nodes, reachable)


def placed(objects: Objects, placement: Placement, image: Binary) -> Linked:
    """Make the graph of the objects in the image, in the given order.

    A group is represented by the copy in the image.
    """
    numbers = _linked(objects, {number for number, _ in placement.address}, image)
    sections: dict[int, set[int]] = {}
    for number, section in placement.address:
        sections.setdefault(number, set()).add(section)
    # 32-bit and big-endian objects have no section graphs, but their sections in the image are
    # known.
    files = [
        (n, f)
        for n in numbers
        if isinstance(f := objects.files[n], ElfFile)
        and f.elf.layout.is_64
        and f.elf.layout.order == "<"
    ]
    inputs = (
        inferred(image, ())
        if isinstance(image, Elf)
        else LinkInputs((), "executable", Linker("bfd", ()))
    )
    loaded = as_placed(
        [Object(f.path, f.member, f.elf) for _, f in files],
        [sections.get(n, set()) for n, _ in files],
        inputs,
    )
    graph = graph_of(loaded)
    return Linked(graph, _nodes(graph, [n for n, _ in files]), None)


def _linked(objects: Objects, there: Collection[int], image: Binary) -> list[int]:
    """List the objects with sections in the image, and others that define what they need.

    Linkers may merge all code of an object with equal code of others (--icf).
    """
    definers: dict[str, int] = {}
    for number, file in enumerate(objects.files):
        if number not in there:
            for name in _defined(file):
                definers.setdefault(name, number)
    known = {symbol.name for table in image.dynamic_symbols for symbol in table.objects()}
    found = sorted(there)
    for number in found if definers else ():
        known.update(_defined(objects.files[number]))
    for number in found if definers else ():  # which grows
        for symbol in objects.files[number].symbols:
            is_needed = symbol.section == 0 and symbol.binding == STB_GLOBAL
            if is_needed and symbol.name not in known and symbol.name in definers:
                found.append(definers[symbol.name])
                known.update(_defined(objects.files[definers[symbol.name]]))
    return sorted(found)


def _defined(file: ObjectFile) -> Iterator[str]:
    return (s.name for s in file.symbols if s.section and s.binding != STB_LOCAL)


def _number(numbers: Mapping[tuple[str, str], int], label: str) -> int | None:
    if (label, "") in numbers:  # names of ThinLTO's objects have brackets
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
