"""Dtype branches as they were compiled: code, references and tables in each function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.predict.savings.case_code import CaseCode
from sizeguard.predict.switch_edges import SwitchEdges, bare_of, source_of
from sizeguard.runtimes.build_facts import BuildFacts

Branch = tuple[str, str]  # tag, dtype


@dataclass(slots=True)
class CompiledCase:
    """A branch in one function that contains its switch.

    code:   bytes that only the branch uses
    switch: bare name of the function that contains the switch in the sources
    tables: tables of bodies that the switch became, each with the edge to this branch's body
    edges:  references that its code makes
    """

    code: int = 0
    switch: str = ""
    tables: dict[int, list[int]] = field(default_factory=dict)
    edges: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True, eq=False)
class CompiledBranches:
    """All branches of a full build.

    cases:    (tag, dtype) → node of the function → its case
    copies:   (tag, bare name of a function) → number of its switches over the tag
    unclear:  branches whose code may belong to another tag's switch in the same function
    inlined:  (tag, node) → bytes of inlined copies of its switches' functions that may become calls
    """

    cases: Mapping[Branch, Mapping[int, CompiledCase]]
    copies: Mapping[tuple[str, str], int]
    unclear: frozenset[Branch]
    inlined: Mapping[tuple[str, int], int]

    def dtypes_in(self, tag: str, node: int, but: str) -> list[str]:
        """Return the dtypes in a tag's switches in a function, except one."""
        return [
            d for (t, d), cases in self.cases.items() if t == tag and d != but and node in cases
        ]


def compiled_branches(
    graph: SectionGraph, facts: BuildFacts, named: SwitchEdges, found: CaseCode
) -> CompiledBranches:
    """Combine branches from debug information with those from the names of bodies."""
    collected = _Collected(graph, facts, found)
    for piece in found.pieces:
        inside = collected.edges_in(piece.node, piece.start, piece.end)
        for tag in collected.tags(piece.node, piece.function):
            case = collected.case(tag, piece.dtype, piece.node)
            case.code += piece.end - piece.start
            case.switch = piece.function
            case.edges.update(inside)
    collected.add_named(named)
    collected.add_inlined()
    return collected.result()


class _Collected:
    def __init__(self, graph: SectionGraph, facts: BuildFacts, found: CaseCode) -> None:
        self.graph = graph
        # (bare name, node) → inlined function → bytes
        self.inlined: dict[tuple[str, int], dict[str, int]] = {}
        for (function, node), size in found.inlined.items():
            self.inlined.setdefault((bare_of(function), node), {})[function] = size
        self.cases: dict[Branch, dict[int, CompiledCase]] = {}
        self.unclear: set[Branch] = set()
        self.copies: dict[tuple[str, str], int] = {}
        self.by_place: dict[tuple[str, str], set[str]] = {}
        self.by_function: dict[str, set[str]] = {}
        for switch in facts.switches:
            key = switch.tag, switch.function
            self.copies[key] = self.copies.get(key, 0) + 1
            self.by_place.setdefault((switch.file, switch.function), set()).add(switch.tag)
            self.by_function.setdefault(switch.function, set()).add(switch.tag)

    def tags(self, node: int, function: str) -> set[str]:
        """Return the tags that a function switches over; a header's are known only by name."""
        source = source_of(self.graph.objects[int(self.graph.nodes.object[node])])
        return self.by_place.get((source, function)) or self.by_function.get(function, set())

    def case(self, tag: str, dtype: str, node: int) -> CompiledCase:
        return self.cases.setdefault((tag, dtype), {}).setdefault(node, CompiledCase())

    def edges_in(self, node: int, start: int, end: int) -> Iterable[int]:
        edges = self.graph.edges
        low, high = int(edges.start[node]), int(edges.start[node + 1])
        offsets = edges.offset[low:high]
        return (low + np.flatnonzero((offsets >= start) & (offsets < end))).tolist()

    def add_named(self, named: SwitchEdges) -> None:
        """Add references to bodies outside the cases' code, and those of tables."""
        claimed: dict[int, set[str]] = {}
        for (_, dtype), cases in self.cases.items():
            for case in cases.values():
                for edge in case.edges:
                    claimed.setdefault(edge, set()).add(dtype)
        for k in range(len(named.edge)):
            edge, holder, table = int(named.edge[k]), int(named.holder[k]), int(named.table[k])
            dtype = named.dtypes[named.dtype[k]]
            tags = self._inlined_there(named.tags[named.tag[k]], holder)
            if edge in claimed:
                continue  # debug information shows the branch
            for tag in tags:
                case = self.case(tag, dtype, holder)
                if table >= 0:
                    case.tables.setdefault(table, []).append(edge)
                else:
                    case.edges.add(edge)
                if len(tags) > 1:
                    self.unclear.add((tag, dtype))

    def _inlined_there(self, tags: frozenset[str], node: int) -> frozenset[str]:
        """Return the tags whose switch was inlined there, if that is known for any."""
        there = frozenset(
            tag for tag, function in self.copies if tag in tags and (function, node) in self.inlined
        )
        return there if len(tags) > 1 and there else tags

    def add_inlined(self) -> None:
        """Add references to the same bodies from functions that a switch was inlined into."""
        edges = self.graph.edges
        for (tag, dtype), cases in list(self.cases.items()):
            functions = [function for t, function in self.copies if t == tag]
            bodies = {int(edges.target[edge]) for case in cases.values() for edge in case.edges}
            for function, node in list(self.inlined):
                if function not in functions or node in cases or not bodies:
                    continue
                low, high = int(edges.start[node]), int(edges.start[node + 1])
                found = low + np.flatnonzero(np.isin(edges.target[low:high], list(bodies)))
                if len(found):
                    self.case(tag, dtype, node).edges.update(found.tolist())

    def result(self) -> CompiledBranches:
        owners: dict[int, set[str]] = {}
        for (tag, _), cases in self.cases.items():
            for case in cases.values():
                for edge in case.edges:
                    owners.setdefault(edge, set()).add(tag)
        for branch, cases in self.cases.items():
            if any(len(owners[edge]) > 1 for case in cases.values() for edge in case.edges):
                self.unclear.add(branch)
        return CompiledBranches(
            self.cases, self.copies, frozenset(self.unclear), self._may_be_called()
        )

    def _may_be_called(self) -> dict[tuple[str, int], int]:
        """Return the bytes of inlined copies that a call could replace.

        All of them, if the function is also present itself; else all except the largest, which
        remains.
        """
        alone = {
            (int(self.graph.nodes.object[node]), bare_of(self.graph.symbol_of(node)))
            for cases in self.cases.values()
            for node in cases
        }
        copies: dict[tuple[int, str], dict[int, int]] = {}
        for (_, node), functions in self.inlined.items():
            for function, size in functions.items():
                here = int(self.graph.nodes.object[node])
                copies.setdefault((here, function), {})[node] = size
        found: dict[tuple[str, int], int] = {}
        for (here, function), sizes in copies.items():
            bare = bare_of(function)
            remains = max(sizes, key=lambda node: sizes[node])
            for node, size in sizes.items():
                if (here, bare) in alone or node != remains:
                    for tag in {tag for tag, name in self.copies if name == bare}:
                        found[tag, node] = found.get((tag, node), 0) + size
        return found
