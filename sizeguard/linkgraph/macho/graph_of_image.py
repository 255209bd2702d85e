"""Make the section graph of a Mach-O image from its objects, and check that they belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sizeguard.base.errors import InconclusiveError
from sizeguard.formats.macho import FatFile, MachO, read_macho_file
from sizeguard.formats.macho.constants import MH_EXECUTE, N_EXT, N_SECT, N_STAB, N_TYPE
from sizeguard.formats.macho.reader import members_hint
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import live
from sizeguard.linkgraph.macho.macho_graph import build_macho_graph


def graph_of_macho_image(image: Path, objects: Sequence[Path]) -> SectionGraph:
    """Make the section graph of an image that was linked with -dead_strip.

    Raises InconclusiveError for a universal binary, objects of another build, and an image that
    keeps more than its entry or its exports reach.
    """
    macho = read_macho_file(image)
    if isinstance(macho, FatFile):
        hint = members_hint(image, macho.images)
        raise InconclusiveError(f"{image}: a universal binary; {hint}")
    graph = build_macho_graph(objects, library=macho.filetype != MH_EXECUTE)
    _check(macho, graph)
    return graph


def _check(macho: MachO, graph: SectionGraph) -> None:
    """Compare the definitions that all objects see with the image's symbols."""
    symbols = macho.symbols
    defined = (symbols.type & N_STAB == 0) & (symbols.type & N_TYPE == N_SECT)
    if not (defined & (symbols.type & N_EXT == 0)).any():
        raise InconclusiveError(f"{macho.path} is stripped: pass its twin with symbols")
    raw = symbols.raw_names()
    names = {raw[i] for i in np.flatnonzero(defined).tolist()}
    kept, nodes = live(graph), graph.nodes
    for i in np.flatnonzero(graph.symbols.is_global & (graph.symbols.node >= 0)).tolist():
        node, name = int(graph.symbols.node[i]), graph.symbols.names[i]
        if not nodes.is_alloc[node] or kept[node] == (name in names):
            continue
        text = name.decode("utf-8", "backslashreplace")
        if kept[node]:
            raise InconclusiveError(f"{macho.path} lacks {text}: objects of another build")
        raise InconclusiveError(
            f"{macho.path} has {text}, which nothing reaches: linked without -dead_strip, or with"
            " more roots"
        )
