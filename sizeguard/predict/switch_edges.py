"""Find dtype switches in a section graph: the edges from each switch to its cases' bodies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import PurePath
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import Bool
from sizeguard.names.demangle import demangle
from sizeguard.names.short import bare_name
from sizeguard.runtimes.build_facts import BuildFacts


@dataclass(frozen=True, slots=True, eq=False)
class SwitchEdges:
    """Edges from dtype switches to the bodies of their cases, as parallel columns.

    edge:    number of the edge
    holder:  node of the switch's function
    dtype:   index into `dtypes`
    tag:     index into `tags`
    table:   the data where the edge begins, if the compiler made the switch a table of its bodies'
             addresses; -1 otherwise. Its edges are repeated for each function that uses it
    dtypes:  names
    tags:    sets of tags; a function with two switches may have two
    guarded: tag → functions that lose code when the tag has no dtype, each with the targets of the
             removed edges
    """

    edge: Int
    holder: Int
    dtype: Int
    tag: Int
    table: Int
    dtypes: tuple[str, ...]
    tags: tuple[frozenset[str], ...]
    guarded: dict[str, tuple[tuple[int, frozenset[int]], ...]]

    def is_unselected(
        self, selected: Mapping[str, Collection[str]], *, by_any: bool = False
    ) -> Bool:
        """Return for each branch whether it is omitted: none of its tags selects the dtype.

        by_any: a branch is omitted if any of its tags does not select the dtype
        """
        if not len(self.edge):
            return np.zeros(0, bool)
        rows = [tag for tags in self.tags for tag in tags]
        number = {dtype: k for k, dtype in enumerate(self.dtypes)}
        omits = np.ones((len(rows), len(number)), bool)
        chosen = [
            row * len(number) + number[dtype]
            for row, tag in enumerate(rows)
            for dtype in selected.get(tag, ())
            if dtype in number
        ]
        omits.reshape(-1)[chosen] = False
        first = np.cumsum([0, *map(len, self.tags[:-1])])
        combine = np.logical_or if by_any else np.logical_and
        return combine.reduceat(omits, first)[self.tag, self.dtype]

    def edges_gone(self, gone: Bool, edges: int) -> Bool:
        """Return a mask of the omitted edges, of a graph with so many.

        An edge of a table is omitted when none of its users stays.
        """
        found = np.zeros(edges, bool)
        found[self.edge[gone]] = True
        found[self.edge[~gone]] = False
        return found


def find_branches(
    graph: SectionGraph, facts: BuildFacts, dtype_of: Callable[[str], str]
) -> SwitchEdges:
    """Find the edges from the functions of dtype switches to the bodies of their cases.

    A body is a function with a dtype in its mangled name. The switch's function has none. Both are
    recognised only by name, so an inlined switch is looked for in all functions of its file without
    a switch of their own.
    """
    functions = _named_functions(graph)
    held_by = functools.cache(_SwitchTags(facts, functions).held_by)

    @functools.cache
    def dtype_at(node: int) -> str:
        """Return the first dtype in a function's mangled name; empty for none."""
        return dtype_of(graph.symbol_of(node)).partition("+")[0]

    dtypes: dict[str, int] = {}
    tags: dict[frozenset[str], int] = {}
    rows: list[tuple[int, int, int, int, int]] = []
    for edge, holder, body, table in _code_edges(graph):
        held = held_by(holder)
        dtype = dtype_at(body) if held else ""
        if dtype and not dtype_at(holder):
            dtype_number = dtypes.setdefault(dtype, len(dtypes))
            tag_number = tags.setdefault(held, len(tags))
            rows.append((edge, holder, dtype_number, tag_number, table))
    columns = np.array(rows, np.int64).reshape(-1, 5)
    guarded_tags = sorted({guard.tag for guard in facts.guards})
    return SwitchEdges(
        edge=columns[:, 0],
        holder=columns[:, 1],
        dtype=columns[:, 2],
        tag=columns[:, 3],
        table=columns[:, 4],
        dtypes=tuple(dtypes),
        tags=tuple(tags),
        guarded={tag: _guarded_calls(graph, facts, functions, tag) for tag in guarded_tags},
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Functions:
    """Functions of a graph that have a name, by node in ascending order.

    name:    C++ name without namespaces, parameters and template arguments
    object:  index into `sources`, for every node
    sources: name of the source file of each object
    """

    name: dict[int, str]
    object: npt.NDArray[np.int32]
    sources: list[str]

    def source(self, node: int) -> str:
        return self.sources[int(self.object[node])]

    def in_places(self, places: Collection[tuple[str, str]]) -> list[int]:
        """Return the functions of these pairs of a source file and a name."""
        return [node for node, name in self.name.items() if (self.source(node), name) in places]


@functools.lru_cache(maxsize=1 << 14)
def bare_of(name: str) -> str:
    """Return the bare name of a mangled name, or of one in the source's spelling.

    A prediction asks three times for the names of 1,000 symbols.
    """
    return bare_name(demangle(name))


def _named_functions(graph: SectionGraph) -> _Functions:
    nodes = graph.nodes
    names: dict[int, str] = {}
    for node in np.flatnonzero(nodes.is_exec[: nodes.sections]).tolist():
        symbol = graph.symbol_of(node)
        if symbol:
            names[node] = bare_of(symbol)
    return _Functions(names, nodes.object, [source_of(label) for label in graph.objects])


class _SwitchTags:
    """Tags of the dtype switches in a function, according to the sources."""

    def __init__(self, facts: BuildFacts, functions: _Functions) -> None:
        self.functions = functions
        self.by_source: dict[str, dict[str, set[str]]] = {}
        for switch in facts.switches:
            of_function = self.by_source.setdefault(switch.file, {})
            of_function.setdefault(switch.function, set()).add(switch.tag)
        self.compiled: dict[int, set[str]] = {}
        for node, name in functions.name.items():
            self.compiled.setdefault(int(functions.object[node]), set()).add(name)

    def held_by(self, node: int) -> frozenset[str]:
        """Return the tags of a function's own switches, else those of inlined ones."""
        of_function = self.by_source.get(self.functions.source(node), {})
        own = of_function.get(self.functions.name.get(node, ""))
        return frozenset(own) if own is not None else self._inlined(node, of_function)

    def _inlined(self, node: int, of_function: Mapping[str, set[str]]) -> frozenset[str]:
        """Return the tags of switches whose function the node's object does not contain."""
        compiled = self.compiled.get(int(self.functions.object[node]), set())
        return frozenset(
            tag for name, tags in of_function.items() if name not in compiled for tag in tags
        )


class _CodeEdge(NamedTuple):
    """An edge from code to code. table: the switch's table in which it begins, -1 without one."""

    edge: int
    function: int
    target: int
    table: int


def _code_edges(graph: SectionGraph) -> Iterator[_CodeEdge]:
    """Yield the edges from code to code.

    An edge that begins in a switch's table counts for each function that uses the table.
    """
    nodes, edges = graph.nodes, graph.edges
    source = edges.source
    tables = switch_tables(graph)
    is_source = nodes.is_exec.copy()
    is_source[list(tables)] = True
    for edge in np.flatnonzero(is_source[source] & nodes.is_exec[edges.target]).tolist():
        begin = int(source[edge])
        table = begin if begin in tables else -1
        for holder in tables.get(begin, (begin,)):
            yield _CodeEdge(edge, holder, int(edges.target[edge]), table)


def switch_tables(graph: SectionGraph) -> dict[int, tuple[int, ...]]:
    """Find the tables that clang makes from switches, each with the functions that use it.

    clang makes a table from a switch whose cases differ only in a value, such as a body's address.
    Switches with equal values share a table.
    """
    nodes, edges = graph.nodes, graph.edges
    source = edges.source
    if graph.linker == "ld64.lld":  # its sections have no names of their own
        names = [graph.symbol_of(node) for node in range(len(nodes))]
        is_table = np.array([name.startswith("l_switch.table.") for name in names], bool)
    else:
        is_table = np.array([".Lswitch.table." in name for name in graph.names], bool)
    users: dict[int, tuple[int, ...]] = {}
    for edge in np.flatnonzero(is_table[edges.target] & nodes.is_exec[source]).tolist():
        table, user = int(edges.target[edge]), int(source[edge])
        users[table] = tuple(dict.fromkeys((*users.get(table, ()), user)))
    return users


def _guarded_calls(
    graph: SectionGraph, facts: BuildFacts, functions: _Functions, tag: str
) -> tuple[tuple[int, frozenset[int]], ...]:
    """Return the functions with code that needs a dtype of the tag, and the functions it calls."""
    guards = {(guard.file, guard.function) for guard in facts.guards if guard.tag == tag}
    switches = {(switch.file, switch.function) for switch in facts.switches if switch.tag == tag}
    switch_files = {file for file, _ in switches}
    homes = switches | {place for place in guards if place[0] in switch_files}
    inside = set(functions.in_places(homes))
    return tuple((node, _guarded_by(graph, node, inside)) for node in functions.in_places(guards))


def _guarded_by(graph: SectionGraph, node: int, inside: set[int]) -> frozenset[int]:
    """Return the functions that a function calls in guarded code.

    A function in the switch's own file calls its own cold parts (f.part.0) there; a function in
    another file calls functions of the switch's file.
    """
    edges = graph.edges
    called = set(edges.target[int(edges.start[node]) : int(edges.start[node + 1])].tolist())
    if node in inside:
        own = graph.symbol_of(node)
        return frozenset(
            target for target in called if graph.symbol_of(target).startswith(f"{own}.part")
        )
    return frozenset(called & inside)


def tag_holders(graph: SectionGraph, facts: BuildFacts) -> dict[str, Int]:
    """Find the functions that contain one of a tag's switches, for each tag.

    A switch whose function was inlined may be in any function of its file; a switch in a header may
    be anywhere.
    """
    nodes = graph.nodes
    code = np.flatnonzero(nodes.is_exec[: nodes.sections]).astype(np.int64)
    functions = {node: bare_of(graph.symbol_of(node)) for node in code.tolist()}
    of_file: dict[str, list[int]] = {}
    sources = [source_of(label) for label in graph.objects]
    for node in code.tolist():
        of_file.setdefault(sources[int(nodes.object[node])], []).append(node)
    found: dict[str, list[Int]] = {}
    for switch in facts.switches:
        here = of_file.get(switch.file)
        if here is None:
            found.setdefault(switch.tag, []).append(code)
            continue
        own = [node for node in here if functions[node] == switch.function]
        found.setdefault(switch.tag, []).append(np.array(own or here, np.int64))
    return {tag: distinct(np.concatenate(parts)) for tag, parts in found.items()}


def source_of(label: str) -> str:
    """Return the source's name: math.cpp for libk.a(math.cpp.o) and for out/math.cpp.o."""
    name = label.rpartition("(")[2].rstrip(")") if label.endswith(")") else label
    return PurePath(name).name.removesuffix(".o").removesuffix(".obj")
