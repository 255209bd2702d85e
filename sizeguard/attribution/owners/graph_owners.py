"""Find the owner of each section graph node: an operator, several operators, or the program.

Operators are entries of registration tables: a schema and a function. A node that only one operator
reaches belongs to that operator; a node that the program reaches without any entry belongs to the
core.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sizeguard.attribution.size_report import CORE, SHARED
from sizeguard.base.dataclass import dataclass
from sizeguard.columns.pool import Pool
from sizeguard.columns.texts import Int32
from sizeguard.linkgraph.graph import ENTRY, RELOCATION, SectionGraph
from sizeguard.linkgraph.live import live
from sizeguard.linkgraph.retained import NodeUsers, users_of
from sizeguard.names.registered import SCHEMAS
from sizeguard.operators.name import operator_of
from sizeguard.runtimes.known import kernel_of


@dataclass(frozen=True, slots=True, eq=False)
class Reached:
    """Owners of the nodes of a section graph.

    owner:   by node, index into `labels`
    labels:  "" for nodes that are not linked, CORE, SHARED, and operators; "a, b" for nodes that a
             kernel of several operators keeps
    kernels: operator → its kernel's C++ name
    """

    users: NodeUsers
    owner: Int32
    labels: tuple[str, ...]
    kernels: Mapping[str, str]

    @property
    def graph(self) -> SectionGraph:
        """The section graph."""
        return self.users.graph

    def label(self, node: int) -> str:
        """Return the owner of a node."""
        return self.labels[int(self.owner[node])]


def reach(graph: SectionGraph) -> Reached:
    """Find the owner of each node, consistent with the bytes that retained.retained counts."""
    users = users_of(graph)
    functions = {name: _functions(graph, nodes) for name, nodes in users.entries.items()}
    schemas = {n for n, nodes in users.entries.items() if _is_schema(graph.names[nodes[0]])}
    # Operators with the same function are named together if all of them reach the node.
    joint: dict[tuple[int, ...], list[str]] = {}
    for name in sorted(schemas):
        joint.setdefault(functions[name], []).append(name)
    pool = Pool()
    together = np.zeros(len(graph.nodes), np.int64)
    owner = np.zeros(len(graph.nodes), np.int32)
    for name, mine in users.reached.items():
        names = joint[functions[name]] if name in schemas else []
        owner[mine[users.count[mine] == 1]] = pool.number(name if names else CORE)
        if len(names) > 1:
            number = pool.number(", ".join(names))
            mine = mine[users.count[mine] > 1]
            mine = mine[np.isin(owner[mine], (0, number))]
            together[mine] += 1
            owner[mine] = number
    owner[(users.count > 1) & (together != users.count)] = pool.number(SHARED)
    owner[users.core | (users.count == 0)] = pool.number(CORE)
    owner[~live(graph)] = 0
    kernels = {
        name: kernel_of(graph.symbol_of(found[0]))
        for name, found in functions.items()
        if found and name in schemas
    }
    return Reached(users, owner, tuple(pool.texts), kernels)


def _is_schema(text: str) -> bool:
    return SCHEMAS.text.match(text.encode()) is not None


def _functions(graph: SectionGraph, nodes: list[int]) -> tuple[int, ...]:
    """Return the functions that the entries name."""
    edges = graph.edges
    found = set()
    for node in nodes:
        here = slice(int(edges.start[node]), int(edges.start[node + 1]))
        target = edges.target[here][edges.reason[here] == RELOCATION]
        found |= set(target[graph.nodes.is_exec[target]].tolist())
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class PlacedEntry:
    """Entry of a registration table: its node, and the operator that it registers."""

    node: int
    operator: str


def entries_of(reached: Reached) -> list[PlacedEntry]:
    """List the entries that register operators."""
    graph = reached.graph
    return [
        PlacedEntry(node, operator_of(graph.names[node]))
        for node in np.flatnonzero(graph.nodes.kind == ENTRY).tolist()
        if _is_schema(graph.names[node])
    ]
