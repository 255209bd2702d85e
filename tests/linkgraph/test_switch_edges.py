"""Edges of dtype switches, compared with a plain loop over made-up section graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.linkgraph.edge_lists import EdgeLists
from sizeguard.linkgraph.graph import RELOCATION, SECTION, GraphSymbols, Nodes, SectionGraph
from sizeguard.predict.switch_edges import SwitchEdges, find_branches, tag_holders
from sizeguard.runtimes.build_facts import BuildFacts, Calibration, Dispatch, SwitchSite

TABLE = ".rodata..Lswitch.table.f"
FILES = ("a.cpp", "b.cpp")
FUNCTIONS = ("f", "g")
TAGS = ("t", "u", "v")
# Symbols such as f.Float: a function and the dtype in its name.
SYMBOLS = st.sampled_from(
    ["", "f", "g", "h", "f.part.0", "f.Float", "g.Float", "h.Long", "h.Long+Int"]
)
SWITCHES = st.lists(
    st.builds(
        SwitchSite, st.sampled_from(TAGS), st.sampled_from(FILES), st.sampled_from(FUNCTIONS)
    ),
    max_size=4,
)
FACTS = st.builds(
    BuildFacts,
    runtime=st.just("sizeguard"),
    dispatch=st.just(Dispatch(())),
    switches=SWITCHES.map(tuple),
    guards=SWITCHES.map(tuple),
    verbose_texts=st.just(frozenset[str]()),
    verbose_feature=st.just(""),
    handler=st.just(""),
    features=st.just({}),
    class_registrar=st.just("register_class"),
    calibration=st.just(Calibration(0, 0, 0, 0, 0, 0, None, True)),
)


def dtype_of(symbol: str) -> str:
    text = symbol.partition(".")[2]
    return text if text[:1].isupper() else ""


@st.composite
def graphs(draw: st.DrawFn) -> SectionGraph:
    """Draw graphs of two objects, with functions and switch tables that refer to each other."""
    count = draw(st.integers(1, 8))
    first = draw(st.integers(0, count))
    code = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool)
    symbols = [draw(SYMBOLS) if is_code else "" for is_code in code.tolist()]
    node = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=20))
    return made(code, symbols, pairs, first)


def made(
    code: npt.NDArray[np.bool_], symbols: list[str], pairs: list[tuple[int, int]], first: int
) -> SectionGraph:
    """Make a graph of functions and switch tables. first: node of the second object's first."""
    count = len(code)
    edges = EdgeLists()
    for place, (source, target) in enumerate(pairs):
        edges.add(source, target, RELOCATION, place)
    zeros, no = np.zeros(count, np.int64), np.zeros(count, bool)
    named = [i for i, symbol in enumerate(symbols) if symbol]
    nodes = Nodes(
        sections=count,
        kind=np.full(count, SECTION, np.int8),
        object=(np.arange(count) >= first).astype(np.int32),
        index=np.arange(count, dtype=np.int32),
        offset=zeros,
        size=zeros + 8,
        align=zeros + 1,
        is_alloc=~no,
        is_write=no,
        is_exec=code,
        is_nobits=no,
        is_duplicate=no,
    )
    return SectionGraph(
        objects=("libk.a(a.cpp.o)", "out/b.cpp.o"),
        nodes=nodes,
        names=tuple(".text" if is_code else TABLE for is_code in code.tolist()),
        edges=edges.edges(count),
        symbols=GraphSymbols(
            names=tuple(symbols[i].encode() for i in named),
            node=np.array(named, np.int32),
            offset=np.zeros(len(named), np.int64),
            size=np.full(len(named), 8, np.int64),
            type=np.full(len(named), 2, np.int8),
            is_global=np.ones(len(named), bool),
        ),
        root_kind={},
        is_pic=False,
        is_dynamic=False,
        providers={},
        linker="bfd",
    )


def source_of(graph: SectionGraph, node: int) -> str:
    return FILES[int(graph.nodes.object[node])]


def function_of(graph: SectionGraph, node: int) -> str:
    return graph.symbol_of(node).partition(".")[0]


def tags_held(graph: SectionGraph, facts: BuildFacts, holder: int) -> frozenset[str]:
    """Return the tags of the holder's own switches.

    Without any, return the tags of switches in its file whose functions are not in the object.
    """
    here = [switch for switch in facts.switches if switch.file == source_of(graph, holder)]
    own = {switch.tag for switch in here if switch.function == function_of(graph, holder)}
    if own:
        return frozenset(own)
    same_object = [
        n for n in range(len(graph.nodes)) if graph.nodes.object[n] == graph.nodes.object[holder]
    ]
    compiled = {function_of(graph, n) for n in same_object if graph.symbol_of(n)}
    return frozenset(switch.tag for switch in here if switch.function not in compiled)


def plain_branches(
    graph: SectionGraph, facts: BuildFacts
) -> list[tuple[int, int, str, frozenset[str], int]]:
    """Return edge, holder, dtype, tags and table of every branch, in order of edges."""
    nodes = graph.nodes
    edges = list(zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True))
    found = []
    for edge, (begin, body) in enumerate(edges):
        holders, table = [begin], -1
        if not nodes.is_exec[begin]:
            users = [
                source for source, target in edges if target == begin and nodes.is_exec[source]
            ]
            holders, table = list(dict.fromkeys(users)), begin
        dtype = dtype_of(graph.symbol_of(body)).partition("+")[0]
        for holder in holders:
            if not nodes.is_exec[body] or not dtype or dtype_of(graph.symbol_of(holder)):
                continue
            tags = tags_held(graph, facts, holder)
            if tags:
                found.append((edge, holder, dtype, tags, table))
    return found


def shown(branches: SwitchEdges) -> list[tuple[int, int, str, frozenset[str], int]]:
    columns = (branches.edge, branches.holder, branches.dtype, branches.tag, branches.table)
    return [
        (edge, holder, branches.dtypes[dtype], branches.tags[tag], table)
        for edge, holder, dtype, tag, table in zip(*(c.tolist() for c in columns), strict=True)
    ]


@given(graphs(), FACTS)
def test_branches_are_those_of_a_loop_over_all_edges(
    graph: SectionGraph, facts: BuildFacts
) -> None:
    assert shown(find_branches(graph, facts, dtype_of)) == plain_branches(graph, facts)


def test_tables_of_macos_are_known_by_their_symbols() -> None:
    """Mach-O's sections have no names of their own: all tables are in __DATA,__const."""
    symbols = ["f", "f.Float", "", "f.Long"]
    code = np.array([True, True, False, True])
    graph = made(code, symbols, [(0, 2), (2, 1), (2, 3)], 4)
    macos = replace(
        made(code, [name or "l_switch.table.f" for name in symbols], [(0, 2), (2, 1), (2, 3)], 4),
        names=("__TEXT,__text", "__TEXT,__text", "__DATA,__const", "__TEXT,__text"),
        linker="ld64.lld",
    )
    facts = BuildFacts(
        runtime="sizeguard",
        dispatch=Dispatch(()),
        switches=(SwitchSite("t", "a.cpp", "f"),),
        guards=(),
        verbose_texts=frozenset(),
        verbose_feature="",
        features={},
        handler="",
        calibration=Calibration(0, 0, 0, 0, 0, 0, None, True),
        class_registrar="register_class",
    )
    found = shown(find_branches(macos, facts, dtype_of))
    assert found == shown(find_branches(graph, facts, dtype_of))
    assert [(holder, dtype, table) for _, holder, dtype, _, table in found] == [
        (0, "Float", 2),
        (0, "Long", 2),
    ]


@given(graphs(), FACTS)
def test_guarded_calls_are_those_of_a_loop_over_all_functions(
    graph: SectionGraph, facts: BuildFacts
) -> None:
    named = [node for node in range(len(graph.nodes)) if graph.symbol_of(node)]
    place = {node: (source_of(graph, node), function_of(graph, node)) for node in named}
    expected = {}
    for tag in {guard.tag for guard in facts.guards}:
        switches = {(s.file, s.function) for s in facts.switches if s.tag == tag}
        files = {file for file, _ in switches}
        guards = {(g.file, g.function) for g in facts.guards if g.tag == tag}
        inside = [
            node
            for node in named
            if place[node] in switches or (place[node] in guards and place[node][0] in files)
        ]
        rows = []
        for holder in [node for node in named if place[node] in guards]:
            start = graph.edges.start
            called = set(graph.edges.target[start[holder] : start[holder + 1]].tolist())
            cold = f"{graph.symbol_of(holder)}.part"
            goes = {
                node
                for node in called
                if (graph.symbol_of(node).startswith(cold) if holder in inside else node in inside)
            }
            rows.append((holder, frozenset(goes)))
        expected[tag] = tuple(rows)
    assert find_branches(graph, facts, dtype_of).guarded == expected


@given(graphs(), FACTS, st.dictionaries(st.sampled_from(TAGS), st.sets(st.just("Float"))))
def test_unselected_branches_have_no_tag_that_selects_the_dtype(
    graph: SectionGraph, facts: BuildFacts, selected: dict[str, set[str]]
) -> None:
    branches = find_branches(graph, facts, dtype_of)
    expected = [
        all(dtype not in selected.get(tag, ()) for tag in tags)
        for _, _, dtype, tags, _ in shown(branches)
    ]
    assert branches.is_unselected(selected).tolist() == expected


@given(graphs(), FACTS)
def test_tag_holders_are_all_functions_that_may_hold_a_switch(
    graph: SectionGraph, facts: BuildFacts
) -> None:
    expected: dict[str, set[int]] = {}
    code = np.flatnonzero(graph.nodes.is_exec).tolist()
    for switch in facts.switches:
        here = [node for node in code if source_of(graph, node) == switch.file]
        own = [node for node in here if function_of(graph, node) == switch.function]
        expected.setdefault(switch.tag, set()).update(own or here or code)
    found = tag_holders(graph, facts)
    assert {tag: set(nodes.tolist()) for tag, nodes in found.items()} == expected


@given(graphs(), FACTS, st.dictionaries(st.sampled_from(TAGS), st.sets(st.just("Float"))))
def test_edges_of_a_shared_table_stay_for_the_users_that_stay(
    graph: SectionGraph, facts: BuildFacts, selected: dict[str, set[str]]
) -> None:
    branches = find_branches(graph, facts, dtype_of)
    gone = branches.is_unselected(selected)
    by_edge: dict[int, list[bool]] = {}
    for edge, is_gone in zip(branches.edge.tolist(), gone.tolist(), strict=True):
        by_edge.setdefault(edge, []).append(is_gone)
    found = np.flatnonzero(branches.edges_gone(gone, len(graph.edges.target)))
    assert found.tolist() == sorted(e for e, of in by_edge.items() if all(of))
    assert (gone <= branches.is_unselected(selected, by_any=True)).all()
