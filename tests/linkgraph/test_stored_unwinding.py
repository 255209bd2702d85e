"""Bytes that linkers store for the entries of unwind tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sizeguard.formats.elf import read_elf
from sizeguard.formats.elf.unwind import FDE as ENTRY
from sizeguard.formats.elf.unwind import read_frames
from sizeguard.linkgraph.elf.eh_frame import Record, trimmed_size
from sizeguard.linkgraph.elf.linker_rules import rules_of
from sizeguard.linkgraph.graph import FDE
from sizeguard.linkgraph.inputs.link_inputs import Linker
from sizeguard.linkgraph.live import live
from tests.support.links.link_cases import Case, Linked, link_case


@pytest.mark.parametrize(
    ("linker", "stored"),
    [
        (Linker("bfd", (2, 40)), "trimmed"),
        (Linker("gold", (1, 16)), "filled"),
        (Linker("lld", (15, 0, 6)), "filled"),
        (Linker("lld", (16, 0, 6)), "same"),
        (Linker("mold", (1, 10)), "same"),
    ],
)
def test_linkers_store_entries_differently(linker: Linker, stored: str) -> None:
    """As readelf --debug-dump=frames shows for images by these linkers."""
    assert rules_of(linker).unwind_entries == stored


@pytest.mark.parametrize(
    ("size", "end", "relocated", "expected"),
    [
        (32, b"\x0e\x08\x00\x00\x00\x00", [8], 28),
        (32, b"\x0e\x08\x00\x00", [8], 32),
        (24, b"\x00" * 7, [8], 20),
        (24, b"\x00" * 7, [8, 17], 24),  # the last word has a byte of an address
        (20, b"\x00" * 3, [8], 20),  # its last word has a length
    ],
)
def test_filling_of_an_entry(size: int, end: bytes, relocated: list[int], expected: int) -> None:
    content = b"\x01" * (24 + size - len(end)) + end
    record = Record(24, 24 + size, 0)
    assert trimmed_size(content, record, [24 + at for at in relocated]) == expected


@pytest.mark.native
@pytest.mark.parametrize("linker", ["bfd", "gold", "lld-14", "lld-22", "mold"])
def test_entries_of_the_graph_have_the_sizes_of_the_image(linker: str, tmp_path: Path) -> None:
    linked = link_case(Case("15_thrown_type", "gcc", "2", linker, "executable"), tmp_path)
    assert isinstance(linked, Linked)
    graph = linked.graph
    kept = graph.nodes.size[live(graph) & (graph.nodes.kind == FDE)]
    image = read_elf(linked.output)
    section = image.section(".eh_frame")
    assert section is not None
    frames = read_frames(image, section, None)
    stored = Counter(frames.size[frames.kind == ENTRY].tolist())
    assert kept.size > 1
    missing, others = Counter(kept.tolist()) - stored, stored - Counter(kept.tolist())
    if linker == "bfd":  # fills the last one of an object if it removed others
        missing = Counter(size + 4 for size in missing.elements()) - others
    assert not missing  # others: the linker's own, for .plt
