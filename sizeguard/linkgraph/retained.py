"""Compute the costs of operators: the bytes that each keeps exclusively, shares, and reaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int
from sizeguard.linkgraph.costs import costs_of
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import Bool, live, reachable
from sizeguard.linkgraph.subjects import operators


@dataclass(frozen=True, slots=True)
class Retained:
    """Loaded bytes of an owner; exclusive + shared <= reachable.

    exclusive: bytes that removing it frees
    shared:    bytes that it shares with other owners and that the program itself does not need
    reachable: all bytes that it reaches, including those of the program
    share:     its exact part of `shared`: each node's bytes are divided among its users; the first
               users get the remainder
    """

    exclusive: int
    shared: int
    reachable: int
    share: int


@dataclass(frozen=True, slots=True, eq=False)
class NodeUsers:
    """The operators that reach each node of a graph.

    entries: operator → its linked table entries
    reached: operator → the nodes that it reaches, ascending
    core:    mask of the nodes that the program reaches without any entry
    count:   number of operators, by node
    """

    graph: SectionGraph
    entries: dict[str, list[int]]
    reached: dict[str, Int]
    core: Bool
    count: Int


def users_of(graph: SectionGraph) -> NodeUsers:
    """Find the users of all nodes.

    If another operator reaches an entry, since its code names the table, both share it.
    """
    kept = live(graph)
    entries = {name: [n for n in nodes if kept[n]] for name, nodes in operators(graph).items()}
    entries = {name: nodes for name, nodes in entries.items() if nodes}
    reached = {name: np.flatnonzero(reachable(graph, nodes)) for name, nodes in entries.items()}
    barred = np.zeros(len(graph.nodes), bool)
    count = np.zeros(len(graph.nodes), np.int64)
    for name, nodes in entries.items():
        barred[nodes] = True
        count[reached[name]] += 1
    core = reachable(graph, graph.roots, without=barred)
    return NodeUsers(graph, entries, reached, core, count)


def retained(graph: SectionGraph) -> dict[str, Retained]:
    """Compute the costs of each registered operator.

    exclusive + share of all operators and the bytes that the program needs sum to the live bytes.
    """
    return retained_by(users_of(graph))


def retained_by(users: NodeUsers) -> dict[str, Retained]:
    """Compute the costs of each operator from the users of all nodes."""
    of_all = np.zeros(len(users.count), np.int64)
    return {name: costs for (name, _), costs in _retained(users, of_all, [""]).items()}


def retained_by_dtype(
    users: NodeUsers, dtype_of: Callable[[str], str]
) -> dict[tuple[str, str], Retained]:
    """Compute the parts of operators' costs, by (operator, dtype); they sum to the costs.

    A section belongs to the dtype in its symbol, or to "".
    """
    graph = users.graph
    names = [""]
    label = np.zeros(len(graph.nodes), np.int64)
    for node in range(graph.nodes.sections):
        symbol = graph.symbol_of(node) if graph.nodes.is_exec[node] else ""
        text = dtype_of(symbol) if symbol else ""
        if text not in names:
            names.append(text)
        label[node] = names.index(text)
    return _retained(users, label, names)


def _retained(
    users: NodeUsers, label: Int, names: Sequence[str]
) -> dict[tuple[str, str], Retained]:
    """Compute the costs of each operator, by label of its nodes: indices into `names`."""
    graph = users.graph
    costs = costs_of(graph).load
    given = np.zeros(len(graph.nodes), np.int64)

    def sums(nodes: Int, weights: Int) -> list[int]:
        found = np.bincount(label[nodes], weights, len(names))
        return [int(value) for value in found.tolist()]

    found = {}
    for operator, every in users.reached.items():
        mine = every[~users.core[every]]
        alone, shared = mine[users.count[mine] == 1], mine[users.count[mine] > 1]
        count = users.count[shared]
        share = costs[shared] // count + (given[shared] < costs[shared] % count)
        given[shared] += 1
        columns = (
            sums(alone, costs[alone]),
            sums(shared, costs[shared]),
            sums(every, costs[every]),
            sums(shared, share),
        )
        for name, row in zip(names, zip(*columns, strict=True), strict=True):
            if any(row) or not name:
                found[operator, name] = Retained(*row)
    return found
