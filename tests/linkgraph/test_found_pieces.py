"""Places of merged strings and constants, and how relocations are packed, on made-up links."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.attribution.owners import found_pieces, placed_owners
from sizeguard.attribution.owners.found_pieces import Piece, find_merged
from sizeguard.formats.elf import SHT_ANDROID_RELA, SHT_ANDROID_RELR, SHT_RELA, SHT_RELR
from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.ledger.ledger import NONE
from sizeguard.ledger.partition import Partition
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
        (["** merge constants"], [(0x108,), (0x100,)]),  # of gold
        (["** merge strings"], [(0x108,), (0x100,)]),
        ([".rodata.str1.8"], [(0x108,), ()]),
        ([".rodata.cst"], [(), ()]),
        ([".text"], [(), ()]),
        ([".rodata.cst48"], [(), ()]),
    ],
)
def test_merged_bytes_are_found_below_each_name_of_their_rows(
    monkeypatch: pytest.MonkeyPatch, rows: list[str], places: list[tuple[int, ...]]
) -> None:
    found = pieces_of(monkeypatch, "lld", rows)
    assert [piece.places for piece in found] == places


def test_merged_bytes_are_found_without_rows_of_mold(monkeypatch: pytest.MonkeyPatch) -> None:
    """mold lists no merged sections, and keeps the labels that clang gives to strings."""
    found = pieces_of(monkeypatch, "mold", [])
    assert [(piece.places, piece.is_named) for piece in found] == [
        ((0x108,), True),
        ((0x100,), True),
    ]


def test_a_small_constant_leaves_the_bytes_of_a_larger_one() -> None:
    """The last bytes of the double 2.0 are those of the float 2.0."""
    pieces = [Piece(0, (0x104, 0x108), 4), Piece(1, (0x100,), 8), Piece(1, (0x100, 0x10C), 8)]
    ledger: Any = SimpleNamespace(
        file=Partition(np.array([0, 0x114]), np.array([0, -1]), 0x120),
        owners=SimpleNamespace(input=[0], symbol=[NONE], part=[NONE]),
    )
    content: Any = SimpleNamespace(offset=lambda address, size: address)
    reached: Any = SimpleNamespace(label=["four", "eight"].__getitem__)
    cuts = placed_owners._cuts(ledger, content, reached, pieces, [""])
    assert sorted((cut.start, cut.end, cut.label) for cut in cuts) == [
        (0x100, 0x108, "eight"),
        (0x108, 0x10C, "four"),
        (0x10C, 0x114, "eight"),
    ]


def pieces_of(monkeypatch: pytest.MonkeyPatch, linker: str, rows: list[str]) -> list[Piece]:
    kinds = np.array([SECTION, SECTION, STRING, CONSTANT])
    none = np.zeros(0, np.int64)
    graph: Any = SimpleNamespace(
        linker=linker,
        names=NAMES,
        nodes=Nodes(kinds),
        edges=SimpleNamespace(reason=none, source=none, target=none),
        section_of=lambda node: node - 2,
    )
    monkeypatch.setattr(found_pieces, "live", lambda graph: kinds >= SECTION)
    content: Any = SimpleNamespace(
        at=lambda address, size: CONTENT[address - 0x100 : address - 0x100 + size],
        merged_sections=lambda: [(0x100, 12)],
    )
    sections = [InputSection(".rodata", row, "<internal>", 0x100, 12, True) for row in rows]
    return list(find_merged(graph, sections, [True] * len(rows), content))


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
