"""Places of merged strings and constants, and how relocations are packed, on made-up links."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.attribution.owners import found_pieces
from sizeguard.attribution.owners.found_pieces import find_merged
from sizeguard.formats.elf import SHT_ANDROID_RELA, SHT_ANDROID_RELR, SHT_RELA, SHT_RELR
from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.linkgraph import open_graph
from sizeguard.linkgraph.graph import CONSTANT, SECTION, STRING
from sizeguard.linkgraph.inputs.inferred import packing_of
from sizeguard.linkgraph.inputs.link_inputs import Linker, LinkInputs

CONTENT = b"\x01\x02\x03\x04one\0two\0"
NAMES = (".rodata.str1.8", ".rodata.cst4", "two", "01020304")


@pytest.mark.parametrize(
    ("rows", "places"),
    [
        ([".rodata.cst4", ".rodata.str1.8"], [(0x108,), (0x100,)]),
        ([".rodata"], [(0x108,), (0x100,)]),  # of lld 14
        ([".rodata.str1.8"], [(0x108,), ()]),
        ([".rodata.cst"], [(), ()]),
        ([".text"], [(), ()]),
        ([".rodata.cst48"], [(), ()]),
    ],
)
def test_rows_of_merged_sections_may_have_the_name_of_their_output(
    monkeypatch: pytest.MonkeyPatch, rows: list[str], places: list[tuple[int, ...]]
) -> None:
    kinds = np.array([SECTION, SECTION, STRING, CONSTANT])
    none = np.zeros(0, np.int64)
    graph: Any = SimpleNamespace(
        linker="lld",
        names=NAMES,
        nodes=Nodes(kinds),
        edges=SimpleNamespace(reason=none, source=none, target=none),
        section_of=lambda node: node - 2,
    )
    monkeypatch.setattr(found_pieces, "live", lambda graph: kinds >= SECTION)
    content: Any = SimpleNamespace(
        at=lambda address, size: CONTENT[address - 0x100 : address - 0x100 + size]
    )
    sections = [InputSection(".rodata", row, "<internal>", 0x100, 12, True) for row in rows]
    found = list(find_merged(graph, sections, [True] * len(rows), content))
    assert [piece.places for piece in found] == places


class Nodes:
    """Two sections, a string and a constant."""

    align = np.array([8, 4, 8, 4])

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __len__(self) -> int:
        return len(self.kind)


def image_of(*types: int) -> Any:
    return SimpleNamespace(sections=[SimpleNamespace(type=each, size=8) for each in types])


@pytest.mark.parametrize(
    ("types", "packing"),
    [
        ((), ""),
        ((SHT_RELA,), ""),
        ((SHT_RELA, SHT_RELR), "relr"),
        ((SHT_ANDROID_RELR,), "relr"),
        ((SHT_ANDROID_RELA,), "android"),
        ((SHT_RELR, SHT_ANDROID_RELA), "android"),
    ],
)
def test_the_image_tells_how_relocations_are_packed(
    monkeypatch: pytest.MonkeyPatch, types: tuple[int, ...], packing: str
) -> None:
    """lld 14 ignores -z pack-relative-relocs, and a link without a record has no options."""
    image = image_of(*types)
    assert packing_of(image) == packing
    inputs = LinkInputs((), "executable", Linker("lld", (14,)))
    monkeypatch.setattr(open_graph, "read_link", lambda record: inputs)
    monkeypatch.setattr(open_graph, "read_elf", lambda path: image)
    for name in ("graph_of", "load"):
        monkeypatch.setattr(open_graph, name, lambda given: given)
    found: Any = open_graph._recorded_graph(Path("record"), Path("image"))
    assert found.packing == packing
