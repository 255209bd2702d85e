"""Turns the table entries that a selection leaves out into what would not be compiled then: nodes that go, bytes that shrink."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.linkgraph.costs import CALLS
from sizeguard.linkgraph.graph import ENTRY, PART, RELOCATION, SectionGraph

Bool = npt.NDArray[np.bool_]

# x86-64's `lea table(%rip), %rdi` begins three bytes before its relocation, and a call ends four bytes after its own.
_BEFORE, _AFTER = 3, 4
_CALLS = (*CALLS, 41)  # -fno-plt: a call through the GOT


@dataclass(frozen=True, slots=True, eq=False)
class Unselected:
    """gone: nodes that are not there; shrunk: bytes that remaining sections lose."""

    gone: Bool
    shrunk: dict[int, int]


def without_entries(graph: SectionGraph, entries: npt.ArrayLike) -> Unselected:
    """What goes with entries: a table of which none is left, the record that hands it over, the call that does, the initializer.

    Registration macros and generated code leave all of that out when nothing is selected; in the full graph it is there.
    """
    nodes, edges = graph.nodes, graph.edges
    gone = np.zeros(len(nodes), bool)
    gone[np.asarray(entries, np.int64)] = True
    source = edges.source
    shrunk: dict[int, int] = {}
    holders = _holders(graph)
    emptied = [table for table, parts in holders.items() if gone[parts].all()]
    while emptied:
        following: list[int] = []
        for table in emptied:
            gone[table] = True
            for edge in np.flatnonzero((edges.target == table) & (edges.reason == RELOCATION)).tolist():
                user = int(source[edge])
                if gone[user] or not nodes.is_alloc[user]:
                    continue
                if not nodes.is_exec[user]:
                    following.append(user)  # the record of the table
                elif all(gone[t] or not nodes.is_write[t] or _is_private(graph, t, user) for t in _targets(graph, user)):
                    gone[user] = True  # an initializer that has nothing else to do
                    following += [int(source[e]) for e in np.flatnonzero(edges.target == user) if not nodes.is_exec[source[e]]]
                else:
                    shrunk[user] = shrunk.get(user, 0) + _statement(graph, user, edge)
        emptied = [node for node in dict.fromkeys(following) if not gone[node]]
    return Unselected(gone, {node: less for node, less in shrunk.items() if not gone[node]})


def _holders(graph: SectionGraph) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for node in np.flatnonzero(graph.nodes.kind == ENTRY).tolist():
        found.setdefault(graph.section_of(node), []).append(node)
    return found


def _targets(graph: SectionGraph, node: int) -> list[int]:
    edges = graph.edges
    low, high = int(edges.start[node]), int(edges.start[node + 1])
    return [int(t) for t, reason in zip(edges.target[low:high], edges.reason[low:high], strict=True) if reason != PART]


def _is_private(graph: SectionGraph, variable: int, user: int) -> bool:
    """Whether a variable without content is an initializer's own: clang sets the flag of a registration, gcc sees that nobody reads it."""
    edges = graph.edges
    here = edges.target == variable
    return bool(graph.nodes.is_nobits[variable]) and bool((edges.source[here] == user).all())


def _statement(graph: SectionGraph, user: int, edge: int) -> int:
    """Bytes of code from where a record's address is loaded to the end of the call that takes it."""
    edges = graph.edges
    begin = int(edges.offset[edge])
    for following in range(edge + 1, int(edges.start[user + 1])):
        if int(edges.offset[following]) > begin and int(edges.type[following]) in _CALLS:
            return int(edges.offset[following]) + _AFTER - (begin - _BEFORE)
    return 0
