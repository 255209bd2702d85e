"""Turns a path, of a build or of an image with its objects, into the link that made it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sizeguard.build.record import RECORD, read_build
from sizeguard.errors import InconclusiveError
from sizeguard.formats.elf import ET_DYN, ET_REL, STT_FUNC, STT_OBJECT, Elf, read_elf
from sizeguard.linkgraph.elf_graph import graph_of
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.inputs import Input, Linker, LinkInputs, expand, kind_of
from sizeguard.linkgraph.live import live
from sizeguard.linkgraph.lto import without_lto
from sizeguard.linkgraph.macho_graph import build_macho_graph
from sizeguard.linkgraph.objects import names_of
from sizeguard.linkgraph.record import linker_named, read_link
from sizeguard.linkgraph.resolve import load


def graph_of_path(path: Path, objects: Sequence[Path] = ()) -> SectionGraph:
    """The section graph of a build (its folder or build.json) or of an image with the objects of its link.

    Raises InconclusiveError where objects or the recorded link are missing, or the objects are not those of the image.
    """
    if path.is_dir() or path.name == RECORD:
        build = read_build(path)
        if build.target.endswith("-macos"):
            return build_macho_graph(build.objects, library=build.link == "shared")
        if build.link_command is None:
            raise InconclusiveError(f"{path}: this build records no link command; build again with sizeguard build")
        inputs = without_lto(read_link(build.link_command), build.objects if build.lto else ())
        return graph_of(load(inputs))
    record = path.with_name(f"{path.name.removesuffix('.stripped')}.link.json")
    if not objects and record.is_file():
        return graph_of(load(without_lto(read_link(record))))
    return graph_of_objects(path, objects)


def graph_of_objects(image: Path, objects: Sequence[Path]) -> SectionGraph:
    """The same from objects and archives alone: how they were linked is seen on the image."""
    if not objects:
        raise InconclusiveError(f"{image}: no objects of its link are known; name them with --objects")
    elf = read_elf(image)
    inputs = without_lto(inferred(elf, expand(objects)))
    loaded = load(inputs)
    graph = graph_of(loaded)
    known = _check(elf, graph)
    if (known & ~live(graph)).any():
        # Something of the image would be gone, so nothing was removed.
        graph = graph_of(replace(loaded, inputs=replace(inputs, gc_sections=False)))
    return graph


def inferred(elf: Elf, objects: Sequence[Path]) -> LinkInputs:
    """A link of these files, whose mode, exports and linker the image tells. Archives are searched until nothing comes in."""
    interpreter = any(segment.type == 3 for segment in elf.segments)
    is_pie = bool(_dynamic_flags(elf) & 0x8000000)
    dynamic = any(section.name == ".dynamic" for section in elf.sections)
    if elf.type == ET_REL:
        mode = "relocatable"
    elif elf.type == ET_DYN and not interpreter and not is_pie:
        mode = "shared"
    else:
        mode = "executable" if dynamic else "static"
    exports: set[bytes] = set()
    for table in elf.dynamic_symbols:
        exports.update(names_of(table, np.flatnonzero((table.section != 0) & (table.binding != 0))))
    return LinkInputs(
        files=tuple(Input(path, kind_of(path), group=1) for path in objects),
        mode=mode,
        linker=linker_of(elf),
        pic=elf.type == ET_DYN,
        exports=frozenset(exports),
        output=elf.path,
    )


def linker_of(elf: Elf) -> Linker:
    """The linker that signed the image; GNU ld signs nothing."""
    comment = elf.section(".comment")
    text = elf.content(comment).decode("utf-8", "replace") if comment is not None else ""
    match = re.search(r"LLD [\d.]+\d|mold [\d.]+\d", text)
    if match:
        return linker_named(match[0], str(elf.path))
    if elf.section(".note.gnu.gold-version") is not None:
        return Linker("gold", ())
    return Linker("bfd", ())


def _dynamic_flags(elf: Elf) -> int:
    """DT_FLAGS_1."""
    section = elf.section(".dynamic")
    if section is None or not elf.layout.is_64:
        return 0
    content = elf.content(section)
    words = np.frombuffer(content[: len(content) // 16 * 16], elf.layout.order + "u8").reshape(-1, 2)
    return int(sum(value for tag, value in words.tolist() if tag == 0x6FFFFFFB))


def _check(elf: Elf, graph: SectionGraph) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Nodes that the image's symbol table shows to be there. Raises InconclusiveError if sizes differ: objects of another build."""
    shown = np.zeros(len(graph.nodes), bool)
    # Inline functions have a definition in many objects, and of different sizes where the objects were compiled differently.
    of_name: dict[bytes, int] = {}
    sizes: dict[bytes, set[int]] = {}
    chosen = np.flatnonzero(graph.symbols.is_global & (graph.symbols.node >= 0))
    for i in chosen.tolist():
        name = graph.symbols.names[i]
        sizes.setdefault(name, set()).add(int(graph.symbols.size[i]))
        if graph.nodes.is_alloc[graph.symbols.node[i]]:
            of_name.setdefault(name, int(graph.symbols.node[i]))
    for table in elf.static_symbols:
        rows = np.flatnonzero((table.section > 0) & (table.binding != 0) & np.isin(table.type, (STT_FUNC, STT_OBJECT)))
        for name, size in zip(names_of(table, rows), table.size[rows].tolist(), strict=True):
            if size not in sizes.get(name, {size}):
                text, others = name.decode("utf-8", "backslashreplace"), ", ".join(map(str, sorted(sizes[name])))
                raise InconclusiveError(f"{elf.path}: {text} has {size} bytes, in the objects {others}: objects of another build")
            if name in of_name:
                shown[of_name[name]] = True
    return shown
