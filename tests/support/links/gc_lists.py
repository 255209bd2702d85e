"""Removed sections in linkers' logs and in the model, as counts of (file, section).

Logs omit different things: GNU ld lists no empty sections but duplicates of groups, mold lists no
mergeable sections.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

from sizeguard.formats.elf import SHF_MERGE
from sizeguard.formats.gc_log import parse_gc_log
from sizeguard.formats.magics import THIN_MAGIC
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.inputs.loaded import Loaded
from sizeguard.linkgraph.live import live

Removed = Counter[tuple[str, str]]


def removed_by_log(text: str, loaded: Loaded) -> Removed:
    folder = loaded.inputs.folder
    found = [(row.file, row.section) for row in parse_gc_log(Path("log"), text).removed]
    unloaded = {
        (_normal(found.label, folder), section.name)
        for found in loaded.objects
        for section in found.elf.sections
        if not section.is_allocated
    }
    removed = ((_normal(file, folder), section) for file, section in found)
    return Counter(pair for pair in removed if pair not in unloaded)


def removed_by_model(loaded: Loaded, graph: SectionGraph) -> Removed:
    kept = live(graph)
    family = loaded.inputs.linker.family
    nodes = graph.nodes
    found: Removed = Counter()
    for i in range(nodes.sections):
        gone = (nodes.is_alloc[i] and not kept[i]) or (nodes.is_duplicate[i] and family == "bfd")
        if not gone:
            continue
        section = loaded.objects[int(nodes.object[i])].elf.sections[int(nodes.index[i])]
        if family == "bfd" and section.size == 0:
            continue
        if family == "mold" and section.flags & SHF_MERGE:
            continue
        found[_normal(graph.objects[int(nodes.object[i])], loaded.inputs.folder), section.name] += 1
    return found


def _normal(file: str, folder: Path) -> str:
    path, bracket, member = file.partition("(")
    member = re.sub(r" at \d+", "", member)
    if bracket and (folder / path).is_file() and is_thin(folder / path):
        return os.path.realpath((folder / path).parent / member.removesuffix(")"))
    return os.path.realpath(folder / path) + bracket + member


def is_thin(path: Path) -> bool:
    """Return whether an archive is thin; then GNU ld's log names the members' own files."""
    with path.open("rb") as file:
        return file.read(len(THIN_MAGIC)) == THIN_MAGIC
