"""Find code that would not be compiled if table entries were not selected.

The full build's graph gives the removed nodes, and the bytes that remaining code loses.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.linkgraph.costs import CALLS
from sizeguard.linkgraph.graph import PART, RELOCATION, SectionGraph

Bool = npt.NDArray[np.bool_]

# x86-64's `lea table(%rip), %rdi` begins three bytes before its relocation, and a call ends four
# bytes after its own.
_BEFORE, _AFTER = 3, 4
_CALLS = (*CALLS, 41)  # -fno-plt: a call through the GOT


@dataclass(frozen=True, slots=True, eq=False)
class Unselected:
    """Effects of leaving out table entries.

    gone:   mask of the nodes that would not exist
    shrunk: node → bytes that it loses although it stays
    """

    gone: Bool
    shrunk: dict[int, int]


def without_entries(graph: SectionGraph, entries: npt.ArrayLike) -> Unselected:
    """Find the nodes that disappear with table entries that are not selected.

    When nothing is selected, registration macros and generated code omit more than the entry. They
    omit the empty table, the record that passes it on, the call that passes the record, and the
    initializer. The full graph contains all of these.
    """
    nodes, source = graph.nodes, graph.edges.source
    gone = np.zeros(len(nodes), bool)
    gone[np.asarray(entries, np.int64)] = True
    shrunk: dict[int, int] = {}
    emptied = [table for table, parts in graph.entries.items() if gone[parts].all()]
    while emptied:
        following: list[int] = []
        for table in emptied:
            gone[table] = True
            for edge in _references_to(graph, table):
                user = int(source[edge])
                if gone[user] or not nodes.is_alloc[user]:
                    continue
                if not nodes.is_exec[user]:
                    following.append(user)  # the record of the table
                elif _has_nothing_else(graph, user, gone):
                    gone[user] = True
                    following += _data_that_names(graph, user)
                else:
                    shrunk[user] = shrunk.get(user, 0) + _statement(graph, user, edge)
        emptied = [node for node in dict.fromkeys(following) if not gone[node]]
    return Unselected(gone, {node: less for node, less in shrunk.items() if not gone[node]})


def _references_to(graph: SectionGraph, node: int) -> list[int]:
    """List the relocations that name a node, as edges."""
    edges = graph.edges
    return np.flatnonzero((edges.target == node) & (edges.reason == RELOCATION)).tolist()


def _data_that_names(graph: SectionGraph, function: int) -> list[int]:
    edges = graph.edges
    users = edges.source[np.flatnonzero(edges.target == function)].tolist()
    return [user for user in users if not graph.nodes.is_exec[user]]


def _has_nothing_else(graph: SectionGraph, function: int, gone: Bool) -> bool:
    """Return whether an initializer writes nothing except removed data and its own."""
    return all(
        gone[target] or not graph.nodes.is_write[target] or _is_private(graph, target, function)
        for target in _targets(graph, function)
    )


def _targets(graph: SectionGraph, node: int) -> list[int]:
    edges = graph.edges
    low, high = int(edges.start[node]), int(edges.start[node + 1])
    return [
        int(t)
        for t, reason in zip(edges.target[low:high], edges.reason[low:high], strict=True)
        if reason != PART
    ]


def _is_private(graph: SectionGraph, variable: int, user: int) -> bool:
    """Return whether only this initializer uses a variable without content.

    clang sets the flag of a registration; gcc sees that nothing reads it.
    """
    edges = graph.edges
    here = edges.target == variable
    return bool(graph.nodes.is_nobits[variable]) and bool((edges.source[here] == user).all())


def _statement(graph: SectionGraph, user: int, edge: int) -> int:
    """Return the code bytes from loading a record's address to the end of its call."""
    edges = graph.edges
    begin = int(edges.offset[edge])
    for following in range(edge + 1, int(edges.start[user + 1])):
        if int(edges.offset[following]) > begin and int(edges.type[following]) in _CALLS:
            return int(edges.offset[following]) + _AFTER - (begin - _BEFORE)
    return 0
