"""Predictions count GOT slots and writable sections of any name, and keep tables of other code.

On aarch64, there is a slot, with a relocation, for each address of the image that code loads.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sizeguard.linkgraph.costs import costs_of
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.predict.image_layout import ImageLayout
from sizeguard.predict.predictor import Kept, Predictor, Size
from tests.support.builds.made_predictors import made_predictor
from tests.support.links.made_graphs import made_graph

ADR_GOT_PAGE, LD64_GOT_LO12_NC, CALL26 = 311, 312, 283
NONE = np.zeros(0, np.int64)


def loading(linker: str = "bfd", *, is_pic: bool = True) -> SectionGraph:
    """Make a link: main and a table each load a's address, only the table loads b's."""
    made = made_graph([100, 20, 4, 4], [(0, 1), (0, 2), (0, 2), (1, 2), (1, 3), (1, 3)], [0], {})
    types = [CALL26, *[ADR_GOT_PAGE, LD64_GOT_LO12_NC, ADR_GOT_PAGE] * 2][:6]
    edges = replace(made.edges, type=np.array(types, np.int32), symbol=made.edges.target.copy())
    return replace(made, edges=edges, linker=linker, is_pic=is_pic)


def predictor(graph: SectionGraph, full: Size) -> Predictor:
    return made_predictor(graph, full, {})


def test_each_symbol_that_code_loads_has_a_slot_and_a_relocation() -> None:
    layout = ImageLayout(replace(loading(), is_dynamic=True))
    every = np.ones(4, bool)
    without = np.array([True, False, True, False])
    found = [layout.sizes(kept) for kept in (every, without)]
    assert [(each[".got"], each[".rela"]) for each in found] == [(16, 48), (8, 24)]
    cut = layout.graph.edges.target == 2
    assert layout.sizes(every, cut=cut)[".got"] == 8


@pytest.mark.parametrize(
    ("linker", "is_pic", "slot"),
    [("bfd", True, 32), ("bfd", False, 8), ("lld", True, 32), ("mold", True, 0)],
)
def test_a_slot_belongs_to_its_only_user_or_to_what_it_leads_to(
    linker: str, is_pic: bool, slot: int
) -> None:
    """Without its last user it is gone, even if something else needs what it leads to."""
    costs = costs_of(loading(linker, is_pic=is_pic))
    assert costs.load.tolist() == [100, 20 + slot, 4 + slot, 4]
    assert costs.ram.tolist() == [0, min(slot, 8), min(slot, 8), 0]


def test_calls_through_slots_of_macos_have_no_relocations() -> None:
    """X86_64_RELOC_GOT_LOAD becomes the address; X86_64_RELOC_GOT stays."""
    made = loading("ld64.lld", is_pic=False)
    types = np.array([0x1002, 0x1003, 0x1003, 0x1003, 0x1004, 0x1004], np.int32)
    made = replace(made, edges=replace(made.edges, type=types))
    assert costs_of(made).load.tolist() == [100, 28, 4, 4]
    assert ImageLayout(made).sizes(np.ones(4, bool))[".got"] == 8


def test_code_that_is_not_kept_has_no_slots() -> None:
    made = loading()
    unused = replace(made, root_kind={1: "entry"})
    only_a = replace(made, root_kind={2: "entry"})
    assert costs_of(unused).load.tolist() == [100, 84, 4, 4]
    assert costs_of(only_a).load.tolist() == [100, 20, 4, 4]


def test_writable_sections_are_ram_by_their_flags() -> None:
    """Mach-O's __DATA,__const counted as before, whatever a selection left out."""
    made = made_graph([400, 300, 40], [(0, 1)], [0, 2], {2: "aten::add"})
    nodes = replace(
        made.nodes,
        index=np.array([0, 1, 1], np.int32),
        is_write=np.array([False, True, True]),
    )
    graph = replace(made, nodes=nodes, names=("__TEXT,__text", "__DATA,__const", "aten::add"))
    found = predictor(graph, Size(740, 340))
    assert found.size(Kept()) == Size(740, 340)
    assert found.size(Kept(operators=frozenset())).ram < 340


def test_tables_of_other_code_are_no_classes() -> None:
    """The C library pairs the names of its character sets with functions."""
    sizes = [100, 10, 20, 16, 16, 16]
    edges = [(0, 1), (0, 2), (1, 0), (1, 3), (2, 4), (2, 5)]
    texts = {3: "OpContext", 4: "INTERNAL", 5: "aten::add"}
    made = made_graph(sizes, edges, [0], texts)
    symbols = replace(made.symbols, names=(b"_ZN2sg14register_classEPv", b"f1", b"f2"))
    objects = np.array([0, 1, 2, 1, 2, 2], np.int32)
    nodes = replace(made.nodes, object=objects, index=np.zeros(6, np.int32))
    named = np.where(made.edges.target == 0, 0, -1).astype(np.int32)
    graph = replace(
        made,
        objects=("a.o", "b.o", "c.o"),
        nodes=nodes,
        symbols=symbols,
        edges=replace(made.edges, symbol=named),
    )
    found = predictor(graph, Size(178, 0))
    assert found.classes == {"OpContext"}
    assert found.operators == {"aten::add"}
    gone = found.unselected(Kept(operators=frozenset(), classes=frozenset())).gone
    assert gone[2:].tolist() == [False, True, False, True]
