"""Turns a section graph and the places of dtype switches into the edges that each branch stands for."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from sizeguard.errors import InconclusiveError, InputError
from sizeguard.formats.demangle import demangle
from sizeguard.formats.texts import Int
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import Bool
from sizeguard.linkgraph.subjects import short_name


@dataclass(frozen=True, slots=True)
class Switch:
    """A dtype switch: its tag, the source file's name, the function around it."""

    tag: str
    file: str
    function: str


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """Edges from a switch to the body of a case, as columns: the edge, the switch's function, the number of its dtype, of its tags.

    table: the data that the edge begins in where the compiler made the switch a table of its bodies' addresses; -1 otherwise.
    tags: sets of tags; a function with two switches may have two. dtypes: names.
    guarded: of each tag, functions that shed code when it has no dtype: the function, what the edges that go lead to
    """

    edge: Int
    holder: Int
    dtype: Int
    tag: Int
    table: Int
    dtypes: tuple[str, ...]
    tags: tuple[frozenset[str], ...]
    guarded: dict[str, tuple[tuple[int, frozenset[int]], ...]]

    def is_unselected(self, selected: Mapping[str, Collection[str]]) -> Bool:
        """Of each branch whether it is left out: none of its tags selects the dtype."""
        matrix = np.array([[not any(d in selected.get(t, ()) for t in tags) for d in self.dtypes] for tags in self.tags], bool)
        return matrix[self.tag, self.dtype] if len(self.edge) else np.zeros(0, bool)


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What codegen wrote of the sources.

    switches: dtype switches; guards: code that is there only if the tag has a dtype; verbose_texts: of the feature verbose_errors
    """

    switches: tuple[Switch, ...]
    guards: tuple[Switch, ...]
    verbose_texts: frozenset[str]


def read_source_facts(path: Path) -> SourceFacts:
    """Read kernel_tags.json. Raises InconclusiveError if a build has none."""
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise InconclusiveError(f"{path}: cannot read: {error.strerror}; build again, predictions need it") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    try:
        switches, guards = (
            tuple(Switch(str(tag), str(use["file"]), str(use["function"])) for tag, uses in content[key].items() for use in uses)
            for key in ("tags", "guards")
        )
        return SourceFacts(switches, guards, frozenset(map(str, content["verbose_texts"])))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a list of dtype switches ({error})") from error


def find_branches(graph: SectionGraph, facts: SourceFacts, dtype_of: Callable[[str], str]) -> Branches:
    """Find the bodies of all cases: what carries a dtype and is reached from a switch's function, which carries none.

    A switch whose function the compiler put into its callers is found in any function of its file that is no switch's own.
    """
    by_file: dict[str, dict[str, set[str]]] = {}
    for switch in facts.switches:
        by_file.setdefault(switch.file, {}).setdefault(switch.function, set()).add(switch.tag)
    dtype: dict[int, str] = {}
    functions: dict[int, str] = {}
    nodes, edges = graph.nodes, graph.edges
    for node in np.flatnonzero(nodes.is_exec[: nodes.sections]).tolist():
        name = graph.symbol_of(node)
        if name:
            dtype[node] = dtype_of(name).partition("+")[0]
            functions[node] = _bare(name)
    present: dict[int, set[str]] = {}
    for node, function in functions.items():
        present.setdefault(int(nodes.object[node]), set()).add(function)
    files = [_source_of(label) for label in graph.objects]
    source = edges.source
    numbers: dict[str, int] = {}
    tags: dict[frozenset[str], int] = {}
    rows: list[tuple[int, int, int, int, int]] = []
    user_of = _switch_tables(graph)
    is_source = nodes.is_exec.copy()
    is_source[list(user_of)] = True
    chosen = np.flatnonzero(is_source[source] & nodes.is_exec[edges.target])
    for edge in chosen.tolist():
        begin, body = int(source[edge]), int(edges.target[edge])
        holder = user_of.get(begin, begin)
        if not dtype.get(body) or dtype.get(holder):
            continue
        k = int(nodes.object[holder])
        uses = by_file.get(files[k], {})
        here = uses.get(functions.get(holder, ""))
        if here is None:
            here = {tag for function, some in uses.items() if function not in present.get(k, ()) for tag in some}
        if here:
            number, set_ = numbers.setdefault(dtype[body], len(numbers)), tags.setdefault(frozenset(here), len(tags))
            rows.append((edge, holder, number, set_, -1 if holder == begin else begin))
    table = np.array(rows, np.int64).reshape(-1, 5)
    guarded = {}
    for tag in {guard.tag for guard in facts.guards}:
        places = {(guard.file, guard.function) for guard in facts.guards if guard.tag == tag}
        homes = {(switch.file, switch.function) for switch in facts.switches if switch.tag == tag}
        homes |= {place for place in places if place[0] in {file for file, _ in homes}}
        inside = {node for node, function in functions.items() if (files[int(nodes.object[node])], function) in homes}
        holders = [node for node, function in functions.items() if (files[int(nodes.object[node])], function) in places]
        guarded[tag] = tuple((node, _guarded_by(graph, node, inside)) for node in holders)
    return Branches(table[:, 0], table[:, 1], table[:, 2], table[:, 3], table[:, 4], tuple(numbers), tuple(tags), guarded)


def _switch_tables(graph: SectionGraph) -> dict[int, int]:
    """Tables that clang makes of a switch whose cases differ in a value alone, such as a body's address, each with its function."""
    edges = graph.edges
    source = edges.source
    wanted = np.array([".Lswitch.table." in name for name in graph.names], bool)
    users: dict[int, int] = {}
    for edge in np.flatnonzero(wanted[edges.target] & graph.nodes.is_exec[source]).tolist():
        users.setdefault(int(edges.target[edge]), int(source[edge]))
    return users


def tag_holders(graph: SectionGraph, facts: SourceFacts) -> dict[str, Int]:
    """Of each tag the functions that hold one of its switches, at least.

    A switch whose function the compiler put into its callers may be in any function of its file, one of a header anywhere.
    """
    nodes = graph.nodes
    code = np.flatnonzero(nodes.is_exec[: nodes.sections]).astype(np.int64)
    functions = {node: _bare(graph.symbol_of(node)) for node in code.tolist()}
    of_file: dict[str, list[int]] = {}
    sources = [_source_of(label) for label in graph.objects]
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
    return {tag: np.unique(np.concatenate(parts)) for tag, parts in found.items()}


def _guarded_by(graph: SectionGraph, node: int, inside: set[int]) -> frozenset[int]:
    """What a function calls in the guarded part: of other files what is the switch's file's own, else its own cold part."""
    edges = graph.edges
    called = set(edges.target[int(edges.start[node]) : int(edges.start[node + 1])].tolist())
    if node in inside:
        own = graph.symbol_of(node)
        return frozenset(target for target in called if graph.symbol_of(target).startswith(f"{own}.part"))
    return frozenset(called & inside)


def _source_of(label: str) -> str:
    """math.cpp of libk.a(math.cpp.o) and of out/math.cpp.o."""
    name = label.rpartition("(")[2].rstrip(")") if label.endswith(")") else label
    return PurePath(name).name.removesuffix(".o").removesuffix(".obj")


def _bare(name: str) -> str:
    """floating of sg::kernels::(anonymous namespace)::floating<Exp>."""
    shown = short_name(demangle(name))
    depth = 0
    kept = []
    for character in shown:
        depth += (character == "<") - (character == ">")
        if depth == 0 and character != ">":
            kept.append(character)
    return "".join(kept).rpartition("::")[2].partition(".")[0].partition("[")[0]
