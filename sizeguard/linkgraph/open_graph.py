"""Open the section graph of a build, or of an image with its objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.builds.build_record import IMAGE
from sizeguard.builds.open_build import Files, open_build
from sizeguard.builds.recorded_links import HOW_TO_RECORD
from sizeguard.formats.describe import describe_file
from sizeguard.formats.elf import STT_FUNC, STT_OBJECT, Elf, read_elf
from sizeguard.formats.elf.machines import shortened_code
from sizeguard.formats.sniff import ARCHIVE, ELF, MACHO, image_format
from sizeguard.linkgraph.elf.elf_graph import graph_of
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.inputs.inferred import inferred, packing_of
from sizeguard.linkgraph.inputs.link_inputs import expand
from sizeguard.linkgraph.inputs.loader import load
from sizeguard.linkgraph.inputs.lto import without_lto
from sizeguard.linkgraph.inputs.objects import names_of
from sizeguard.linkgraph.inputs.recorded_link import read_link
from sizeguard.linkgraph.live import live
from sizeguard.linkgraph.recorded_files import missing_record, with_record

NOT_REMOVED = "not removed"  # why an unrecorded link keeps what nothing refers to


def graph_of_path(path: Path) -> SectionGraph:
    """Make the section graph of a build (folder or build.json), or of an image with a record.

    Raises InconclusiveError if objects or the record of the link are missing, or if the objects are
    from another build.
    """
    return graph_of_files(open_build(path, Files(path)))


def graph_of_files(files: Files) -> SectionGraph:
    """Make the section graph of the files of one link; see graph_of_path."""
    build = files.build
    if build is None:
        _check_format(files.image)
        if files.link_record is None and not files.objects:
            files = with_record(files)
        if files.link_record is not None:
            return _recorded_graph(files.link_record, files.image)
        return graph_of_objects(files.image, files.objects)
    if image_format(build.image) == MACHO:
        from sizeguard.linkgraph.macho.macho_graph import build_macho_graph  # 25 ms

        return build_macho_graph(build.objects, library=build.link == "shared")
    if files.link_record is None:
        how = "build again with sizeguard build"
        if build.variant == IMAGE:
            how = f"its link was not recorded; {HOW_TO_RECORD}"
        raise InconclusiveError(f"{files.folder}: this build records no link command; {how}")
    return _recorded_graph(files.link_record, build.image, build.objects if build.lto else ())


def _recorded_graph(record: Path, image: Path, kept: Sequence[Path] = ()) -> SectionGraph:
    """Make the graph of a recorded link. kept: objects that LTO made."""
    inputs = replace(read_link(record), packing=packing_of(read_elf(image)))
    return graph_of(load(without_lto(inputs, kept)))


def has_graph(files: Files) -> bool:
    """Return whether a build's files are enough for a section graph; objects are not read."""
    if image_format(files.image) != ELF:
        return image_format(files.image) == MACHO and bool(files.objects)
    try:
        if files.link_record is not None:
            read_link(files.link_record)
    except (InconclusiveError, InputError):
        return False
    return files.link_record is not None


def _check_format(image: Path) -> None:
    """Raise InputError for a file that no section graph can be made of, with or without objects."""
    if image_format(image) == ARCHIVE:
        raise InputError(f"{image}: a static library; name a program that is linked from it")
    if image_format(image) not in (ELF, MACHO):
        what = describe_file(image)
        raise InputError(f"{image}: {what}; a section graph needs an ELF or Mach-O image")


def graph_of_objects(image: Path, objects: Sequence[Path]) -> SectionGraph:
    """Make the section graph of an image from its objects and archives, without a link record.

    The options of the link are inferred from the image.
    """
    if not objects:
        if image_format(image) == ELF:
            read_elf(image)  # raises InputError for a damaged image
        raise InconclusiveError(f"{missing_record(image)}, or name its objects with --objects")
    if image_format(image) == MACHO:
        from sizeguard.linkgraph.macho.graph_of_image import graph_of_macho_image  # 25 ms

        return graph_of_macho_image(image, expand(objects))
    elf = read_elf(image)
    inputs = without_lto(inferred(elf, expand(objects)))
    loaded = load(inputs)
    graph = graph_of(loaded)
    kept = _check(elf, graph) & ~live(graph)
    if not kept.any():
        return graph
    # The graph would remove something that is in the image, so the linker did not remove anything.
    _check_whole(elf, graph, graph.symbol_of(int(np.flatnonzero(kept)[0])))
    graph = graph_of(replace(loaded, inputs=replace(inputs, gc_sections=False)))
    return replace(graph, root_kind=dict.fromkeys(graph.root_kind, NOT_REMOVED))


def _check_whole(elf: Elf, graph: SectionGraph, kept: str) -> None:
    """Check that the image has all functions and objects of a link that removed nothing.

    kept: a symbol that the link kept although no known root reaches it

    Raises InconclusiveError if it also removed one: an option or a script keeps some.
    """
    there: set[bytes] = set()
    for table in elf.static_symbols:
        there.update(names_of(table, np.flatnonzero(table.section)))
    there |= {name.partition(b"@")[0] for name in there}
    y = graph.symbols
    named = y.is_global & (y.node >= 0) & (y.size > 0) & np.isin(y.type, (STT_FUNC, STT_OBJECT))
    for i in np.flatnonzero(named).tolist():
        if y.names[i] not in there and graph.nodes.is_alloc[y.node[i]]:
            from sizeguard.names.spelling import shown_symbol  # 10 ms

            removed = y.names[i].decode("utf-8", "backslashreplace")
            raise InconclusiveError(
                f"{elf.path}: the link kept {shown_symbol(kept)}, which no known root reaches, and"
                f" removed {shown_symbol(removed)}: an option or a linker script says why;"
                f" {HOW_TO_RECORD}"
            )


def _check(elf: Elf, graph: SectionGraph) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return a mask of the nodes in the image's symbol table.

    Raises InconclusiveError if sizes differ, since the objects are from another build.
    """
    shown = np.zeros(len(graph.nodes), bool)
    # Inline functions are defined in many objects, with different sizes if the objects were
    # compiled differently.
    of_name: dict[bytes, int] = {}
    sizes: dict[bytes, set[int]] = {}
    chosen = np.flatnonzero(graph.symbols.is_global & (graph.symbols.node >= 0))
    for i in chosen.tolist():
        name = graph.symbols.names[i]
        sizes.setdefault(name, set()).add(int(graph.symbols.size[i]))
        if graph.nodes.is_alloc[graph.symbols.node[i]]:
            of_name.setdefault(name, int(graph.symbols.node[i]))
    for table in elf.static_symbols:
        rows = np.flatnonzero(
            (table.section > 0) & (table.binding != 0) & np.isin(table.type, (STT_FUNC, STT_OBJECT))
        )
        for name, size in zip(names_of(table, rows), table.size[rows].tolist(), strict=True):
            if size not in sizes.get(name, {size}):
                text, others = (
                    name.decode("utf-8", "backslashreplace"),
                    ", ".join(map(str, sorted(sizes[name]))),
                )
                raise InconclusiveError(
                    f"{elf.path}: {text} has {size} bytes, in the objects {others}: objects of"
                    f" another build{shortened_code(elf.machine)}"
                )
            if name in of_name:
                shown[of_name[name]] = True
    return shown
