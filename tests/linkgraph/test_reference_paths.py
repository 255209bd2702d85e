"""Paths from the roots of a link to its sections, over drawn graphs.

The oracle joins edges until nothing new is reached, and keeps each section's best root.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sizeguard.formats.elf import STT_SECTION
from sizeguard.linkgraph.edge_lists import EdgeLists
from sizeguard.linkgraph.graph import FDE, PART, RELOCATION, START_STOP, UNWIND
from sizeguard.verify.evidence.object_evidence import Definition, NamedPiece
from sizeguard.verify.evidence.ways import Edge, Reasons
from tests.support.links.made_graphs import made_graph

# The strongest first.
KINDS = {
    "entry": "entry", "init_array": "start-up", "fini_array": "shut-down", "exported": "exported",
    "retain attribute": "retained", "note": "note", "anything": "other",
}  # fmt: skip
SIZE = 16
TEXT = SimpleNamespace(name=".text.f", is_executable=True, size=SIZE)
DATA = SimpleNamespace(name=".data.f", is_executable=False, size=SIZE)


class Row:
    """An edge of a graph: nodes, reason, place in the target, symbol and type of relocation."""

    def __init__(self, source: int, target: int, place: int = 0, **more: int) -> None:
        self.ends = source, target
        self.columns = (
            more.get("reason", RELOCATION), more.get("offset", 0), more.get("symbol", target),
            more.get("type", 1), place,
        )  # fmt: skip


def reasons_of(
    rows: Iterable[Row],
    roots: Mapping[int, str],
    *,
    count: int = 3,
    placed: Collection[int] | None = None,
    sections: Mapping[int, Any] | None = None,
    definitions: Sequence[Definition] = (),
    machine: str = "x86_64",
    missing: int | None = None,
    entries: Mapping[int, str] | None = None,
    **graph: Any,
) -> Reasons:
    """Return the reasons of a link of one object: node i is its section i.

    placed: sections in the image; missing: a node of an object that was not given
    """
    made = made_graph([SIZE] * count, [], [], dict(entries or {}))
    lists = EdgeLists()
    for row in rows:
        lists.add(*row.ends, *row.columns)
    known = sections or {}
    is_exec = np.array([known.get(node, TEXT).is_executable for node in range(count)])
    made = replace(
        made,
        edges=lists.edges(count),
        nodes=replace(made.nodes, is_exec=is_exec),
        root_kind=dict(roots),
        **graph,
    )
    there = range(count) if placed is None else placed
    file = SimpleNamespace(elf=SimpleNamespace(machine=machine), definitions=definitions)
    placement: Any = SimpleNamespace(
        address={(0, node): 0x1000 + SIZE * node for node in there},
        section=lambda node: known.get(node[1], TEXT),
        objects=SimpleNamespace(files=[file]),
    )
    nodes = {node: (0, node) for node in range(count) if node != missing}
    return Reasons(placement, made, nodes)


def best_lengths(
    edges: Collection[tuple[int, int]], roots: Mapping[int, str], placed: Collection[int]
) -> dict[int, tuple[str, int]]:
    """Return the strongest kind of root that reaches each node, and the fewest edges from one."""
    found: dict[int, tuple[str, int]] = {}
    for word, kind in KINDS.items():
        length = {root: 0 for root, why in roots.items() if why == word and root in placed}
        for _ in range(len(placed)):
            for source, target in edges:
                if source in length and target in placed:
                    length[target] = min(length.get(target, 99), length[source] + 1)
        found |= {node: (kind, steps) for node, steps in length.items() if node not in found}
    return found


@pytest.mark.parametrize("seed", range(60))
def test_a_path_is_the_shortest_from_a_strongest_root(seed: int) -> None:
    draw = random.Random(seed)
    count = draw.randint(2, 9)
    edges = {(draw.randrange(count), draw.randrange(count)) for _ in range(draw.randint(0, 14))}
    roots = {draw.randrange(count): draw.choice([*KINDS]) for _ in range(draw.randint(0, 3))}
    placed = draw.sample(range(count), draw.randint(1, count))
    reasons = reasons_of(
        (Row(*edge) for edge in edges), roots, count=count, placed=placed, linker="lld"
    )
    expected = best_lengths(edges, roots, placed)
    for node in range(count):
        way = reasons.way_to((0, node))
        if way is None:
            assert node not in expected
            continue
        steps = [(edge.source[1], edge.target[1]) for edge in way.edges]
        assert (way.root, len(steps)) == expected[node]
        assert expected[way.first[1]] == (way.root, 0)
        assert set(steps) <= edges
        assert [way.first[1], *(target for _, target in steps)] == [
            *(source for source, _ in steps), node
        ]  # fmt: skip
        assert {each for step in steps for each in step} <= set(placed)


def test_a_section_that_the_graph_lacks_has_no_path_and_no_references() -> None:
    reasons = reasons_of([Row(0, 1), Row(0, 2)], {0: "entry"}, missing=2)
    assert reasons.way_to((0, 2)) is None
    assert [*reasons.edges_from((0, 2))] == []
    assert [edge.target for edge in reasons.edges_from((0, 0))] == [(0, 1)]
    assert [reasons.knows((0, node)) for node in range(3)] == [True, True, False]


def test_references_are_in_the_order_of_their_offsets_whether_placed_or_not() -> None:
    rows = [Row(0, 2, offset=8), Row(0, 1, offset=0), Row(1, 2), Row(0, 1, reason=PART)]
    reasons = reasons_of(rows, {0: "entry"}, placed=[0])
    assert [*reasons.edges_from((0, 0))] == [
        Edge((0, 0), (0, 1), 0, "f1"),
        Edge((0, 0), (0, 2), 0, "f2"),
    ]


def test_references_of_a_table_entry_are_those_of_its_table() -> None:
    # Node 2 is an entry of section 0, which references section 1.
    reasons = reasons_of([Row(2, 1, symbol=1)], {0: "entry"}, entries={2: "aten::add"}, missing=2)
    index = reasons.graph.nodes.index.copy()
    index[2] = 0
    graph = replace(reasons.graph, nodes=replace(reasons.graph.nodes, index=index))
    reasons = replace(reasons, graph=graph)
    assert [*reasons.edges_from((0, 0))] == [Edge((0, 0), (0, 1), 0, "f1")]
    way = reasons.way_to((0, 1))
    assert way
    assert way.edges == (Edge((0, 0), (0, 1), 0, "f1"),)


NAMES = [Definition("whole", 1, 0, 16), Definition("part", 1, 4, 4), Definition("alone", 2, 8, 2)]


@pytest.mark.parametrize(
    ("node", "offset", "expected"),
    [
        (1, 0, "whole"),
        (1, 3, "whole"),
        (1, 4, "part"),  # the smaller one
        (1, 7, "part"),
        (1, 8, "whole"),
        (1, 15, "whole"),
        (1, 16, ""),  # two definitions, and none covers it
        (2, 8, "alone"),
        (2, 10, "alone"),  # the only definition of its section
        (2, 0, "alone"),
        (0, 0, ""),
    ],
)
def test_the_symbol_at_an_offset_covers_it(node: int, offset: int, expected: str) -> None:
    assert reasons_of([], {}, definitions=NAMES).symbol_at((0, node), offset) == expected


def test_a_symbol_without_size_covers_its_first_byte() -> None:
    names = [Definition("label", 1, 4, 0), Definition("other", 1, 9, 1)]
    reasons = reasons_of([], {}, definitions=names)
    assert [reasons.symbol_at((0, 1), offset) for offset in (3, 4, 5)] == ["", "label", ""]


@pytest.mark.parametrize(
    ("symbol", "kind", "shown"),
    [(1, 2, "f1"), (1, STT_SECTION, "part"), (-1, 2, "part")],
)
def test_a_reference_by_section_has_the_name_of_what_is_there(
    symbol: int, kind: int, shown: str
) -> None:
    """An object refers to local functions by their section and an offset."""
    reasons = reasons_of([Row(0, 1, 5, symbol=symbol)], {0: "entry"}, definitions=NAMES)
    types = reasons.graph.symbols.type.copy()
    types[1] = kind
    graph = replace(reasons.graph, symbols=replace(reasons.graph.symbols, type=types))
    (edge,) = replace(reasons, graph=graph).edges_from((0, 0))
    assert edge == Edge((0, 0), (0, 1), 5, shown)


def test_a_reference_by_the_first_symbol_has_its_name() -> None:
    (edge,) = reasons_of([Row(1, 0, 5, symbol=0)], {}).edges_from((0, 1))
    assert edge == Edge((0, 1), (0, 0), 5, "f0")


@pytest.mark.parametrize(
    ("linker", "name", "shown"),
    [("ld64.lld", b"_f", "f"), ("ld64.lld", b"__Zf", "_Zf"), ("lld", b"_f", "_f")],
)
def test_symbols_of_mach_o_lose_their_underscore(linker: str, name: bytes, shown: str) -> None:
    reasons = reasons_of([Row(0, 1)], {}, linker=linker)
    graph = replace(reasons.graph, symbols=replace(reasons.graph.symbols, names=(b"x", name, b"y")))
    assert [edge.symbol for edge in replace(reasons, graph=graph).edges_from((0, 0))] == [shown]


@pytest.mark.parametrize(
    ("machine", "type_", "section", "symbol", "is_jump"),
    [
        ("x86_64", 2, DATA, -1, True),
        ("aarch64", 261, DATA, -1, True),
        ("x86_64", 261, DATA, -1, False),
        ("aarch64", 2, DATA, -1, False),
        ("x86_64", 1, DATA, -1, False),  # an address
        ("x86_64", 2, TEXT, -1, False),  # code
        ("x86_64", 2, DATA, 1, False),  # a symbol
        ("riscv64", 2, DATA, -1, False),  # unknown relocations
    ],
)
def test_relative_words_in_data_are_jump_tables(
    machine: str, type_: int, section: Any, symbol: int, is_jump: bool
) -> None:
    row = Row(0, 1, type=type_, symbol=symbol)
    reasons = reasons_of([row], {0: "entry"}, sections={0: section}, machine=machine)
    assert [edge.is_jump for edge in reasons.edges_from((0, 0))] == [is_jump]
    # Offsets in a jump table name no function
    assert reasons.is_reached(NamedPiece(0, 1, 0, SIZE, "f1")) == (not is_jump)


@pytest.mark.parametrize(
    ("place", "piece", "expected"),
    [
        (4, (4, 4), True),
        (7, (4, 4), True),
        (3, (4, 4), False),
        (8, (4, 4), False),
        (4, (4, 0), True),  # a label
        (5, (4, 0), False),
    ],
)
def test_a_piece_is_reached_by_a_reference_to_its_bytes(
    place: int, piece: tuple[int, int], expected: bool
) -> None:
    named = NamedPiece(0, 1, *piece, "f1")
    for root, is_reached in ((0, expected), (2, False)):
        assert reasons_of([Row(0, 1, place)], {root: "entry"}).is_reached(named) == is_reached
    # __start_X and __stop_X reach all of a section
    for symbol, name in ((-1, ""), (2, "f2")):
        bounds = Row(0, 1, place, reason=START_STOP, symbol=symbol)
        reasons = reasons_of([bounds], {0: "entry"})
        assert reasons.is_reached(named)
        assert [*reasons.edges_from((0, 0))] == [Edge((0, 0), (0, 1), 0, name, bounds=True)]


@pytest.mark.parametrize(("section", "expected"), [(TEXT, False), (DATA, True)])
def test_code_that_refers_to_itself_is_not_reached_by_that(section: Any, expected: bool) -> None:
    reasons = reasons_of([Row(1, 1)], {1: "exported"}, sections={1: section})
    assert reasons.is_reached(NamedPiece(0, 1, 0, SIZE, "f1")) == expected
    # A reference from elsewhere counts, also behind that one
    reasons = reasons_of([Row(1, 1), Row(2, 1)], {1: "exported", 2: "entry"}, sections={1: section})
    assert reasons.is_reached(NamedPiece(0, 1, 0, SIZE, "f1"))


@pytest.mark.parametrize(
    ("name", "why", "kind"),
    [
        (".init_array.5", "anything", "start-up"), (".ctors", "entry", "start-up"),
        (".preinit_array", "retain attribute", "start-up"), (".init", "anything", "start-up"),
        (".fini_array", "anything", "shut-down"), (".dtors", "entry", "shut-down"),
        (".text.f", "init_array", "start-up"), (".text.f", "preinit_array", "start-up"),
        (".text.f", "fini_array", "shut-down"), (".text.f", "exported", "exported"),
        (".text.f", "retain attribute", "retained"), (".note", "note", "note"),
        (".text.f", "entry", "entry"), (".text.f", "a script", "other"),
    ],
)  # fmt: skip
def test_the_kind_of_a_root_is_that_of_its_section(name: str, why: str, kind: str) -> None:
    section = SimpleNamespace(name=name, is_executable=True, size=SIZE)
    names = [Definition("f1", 1, 0, 8)]
    reasons = reasons_of([], {1: why}, sections={1: section}, definitions=names)
    # Names of what is exported or retained say why
    assert reasons.roots == {(0, 1): (kind, "f1" if kind in ("exported", "retained") else "")}


@pytest.mark.parametrize(
    ("name", "shown"), [(b"_start", "_start"), (b"main", "main"), (b"_main", "main")]
)
def test_main_is_a_root_since_the_toolchain_calls_it(name: bytes, shown: str) -> None:
    reasons = reasons_of([], {1: "exported", 2: "note"})
    symbols = replace(reasons.graph.symbols, names=(b"f0", name, b"f2"))
    found = replace(reasons, graph=replace(reasons.graph, symbols=symbols)).roots
    assert [*found.items()] == [((0, 1), ("entry", shown)), ((0, 2), ("note", ""))]
    # It has this name, too, if the linker's rules keep it for another reason of this rank
    again = replace(reasons.graph, symbols=symbols, root_kind={1: "entry"})
    assert replace(reasons, graph=again).roots == {(0, 1): ("entry", shown)}
    local = replace(symbols, is_global=np.zeros(3, bool))
    found = replace(reasons, graph=replace(reasons.graph, symbols=local)).roots
    assert found[0, 1] == ("exported", "")
    unplaced = reasons_of([], {1: "exported"}, placed=[0])
    assert replace(unplaced, graph=replace(unplaced.graph, symbols=symbols)).roots == {}


def test_an_unwind_record_refers_to_what_its_function_throws_and_catches() -> None:
    """Node 2 is the record of section 0; it leads to section 1, an exception table."""
    rows = [Row(0, 2, reason=UNWIND), Row(2, 1, reason=UNWIND, symbol=1)]
    reasons = reasons_of(rows, {0: "entry"}, entries={2: ""}, missing=2)
    nodes = replace(reasons.graph.nodes, kind=np.array([0, 0, FDE], np.int8))
    reasons = replace(reasons, graph=replace(reasons.graph, nodes=nodes))
    way = reasons.way_to((0, 1))
    assert way
    assert [(edge.source, edge.target) for edge in way.edges] == [((0, 0), (0, 1))]
    assert [*reasons.edges_from((0, 0))] == []  # the code itself does not refer to it


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        # Nodes 0 and 1 are reached from a root: paths to the others do not begin there
        ([(0, 1), (2, 3), (3, 4)], {2: [2], 3: [2, 3], 4: [2, 3, 4]}),
        ([(3, 4), (4, 3), (4, 2)], {2: [4, 2], 3: [4, 3], 4: [4]}),
        ([(2, 2), (2, 1)], {2: [2], 3: [3], 4: [4]}),
    ],
)
def test_what_no_root_reaches_has_a_path_from_what_is_kept(
    edges: list[tuple[int, int]], expected: dict[int, list[int]]
) -> None:
    reasons = reasons_of((Row(*edge) for edge in edges), {0: "entry", 1: "note"}, count=5)
    for node, path in expected.items():
        assert reasons.way_to((0, node)) is None
        way = reasons.other_way_to((0, node))
        assert way
        found = [way.first[1], *(edge.target[1] for edge in way.edges)]
        assert found == path
