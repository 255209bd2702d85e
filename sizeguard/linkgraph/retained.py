"""Costs of operators: the bytes that each keeps alone, shares with others, and reaches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sizeguard.linkgraph.costs import costs_of
from sizeguard.linkgraph.dominators import dominated_sums, immediate_dominators
from sizeguard.linkgraph.graph import SectionGraph
from sizeguard.linkgraph.live import live, reachable
from sizeguard.linkgraph.subjects import operators

Bool = npt.NDArray[np.bool_]
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Retained:
    """Loaded bytes of an owner.

    exclusive: bytes that go if it goes
    shared:    bytes that it shares with other owners and that the program itself does not need
    reachable: all bytes that it reaches, the program's own included
    share:     its exact part of `shared`: each node's bytes are divided among its users, the
               remainder goes to the first of them
    """

    exclusive: int
    shared: int
    reachable: int
    share: int


def retained(graph: SectionGraph) -> dict[str, Retained]:
    """Compute the costs of each registered operator.

    exclusive + share of all operators and what the program needs sum to the live bytes.
    """
    return retained_of(graph, operators(graph))


def retained_of(graph: SectionGraph, owners: dict[str, list[int]]) -> dict[str, Retained]:
    """Compute the costs of any owners, each given by the nodes that go with it."""
    return _retained(graph, owners, _exclusive_by_dominators(graph, owners))


def retained_by_dtype(
    graph: SectionGraph, dtype_of: Callable[[str], str], owners: dict[str, list[int]] | None = None
) -> dict[tuple[str, str], Retained]:
    """Compute the costs of each dtype branch, by (operator, dtype).

    A branch is the sections that the operator reaches and whose symbol carries the dtype. A body
    that converts between two dtypes belongs to both, as shared.
    """
    kept = live(graph)
    dtypes: dict[int, list[str]] = {}
    for node in np.flatnonzero(
        kept[: graph.nodes.sections] & graph.nodes.is_exec[: graph.nodes.sections]
    ).tolist():
        found = dtype_of(graph.symbol_of(node))
        if found:
            dtypes[node] = found.split("+")
    branches: dict[tuple[str, str], list[int]] = {}
    for operator, entries in (operators(graph) if owners is None else owners).items():
        reached = reachable(graph, entries)
        for node, names in dtypes.items():
            if reached[node]:
                for name in names:
                    branches.setdefault((operator, name), []).append(node)
    costs = costs_of(graph).load
    exclusive = {}
    for key, nodes in branches.items():
        # Nodes that another operator's branch also has stay when this branch goes, so remove only
        # those that no other has.
        own = [node for node in nodes if _users(branches, node, key[1]) == 1]
        barred = np.zeros(len(graph.nodes), bool)
        barred[own] = True
        left = reachable(graph, graph.roots, without=barred) if own else kept
        exclusive[key] = int(costs[kept & ~left].sum())
    return _retained(graph, branches, exclusive)


def _users(branches: dict[tuple[str, str], list[int]], node: int, dtype: str) -> int:
    return sum(node in nodes for (_, other), nodes in branches.items() if other == dtype)


def _exclusive_by_dominators(graph: SectionGraph, owners: dict[str, list[int]]) -> dict[str, int]:
    """Compute the bytes that go with each owner.

    An operator that is registered once owns what its entry dominates. One with several entries owns
    what goes with all of them.
    """
    costs = costs_of(graph).load
    sums = dominated_sums(immediate_dominators(graph), costs)
    kept = live(graph)
    found = {}
    for name, nodes in owners.items():
        if len(nodes) == 1:
            found[name] = int(sums[nodes[0]])
        else:
            barred = np.zeros(len(graph.nodes), bool)
            barred[nodes] = True
            found[name] = int(costs[kept & ~reachable(graph, graph.roots, without=barred)].sum())
    return found


def _retained(
    graph: SectionGraph, owners: dict[Key, list[int]], exclusive: dict[Key, int]
) -> dict[Key, Retained]:
    costs = costs_of(graph).load
    kept = live(graph)
    barred = np.zeros(len(graph.nodes), bool)
    for nodes in owners.values():
        barred[nodes] = True
    core = reachable(graph, graph.roots, without=barred)
    reached = {}
    users = np.zeros(len(graph.nodes), np.int64)
    for name, nodes in owners.items():
        if kept[nodes].any():
            reached[name] = reachable(graph, [node for node in nodes if kept[node]])
            users += reached[name]
    found = {}
    given = np.zeros(len(graph.nodes), np.int64)
    for name, mine in reached.items():
        shared = mine & ~core & (users > 1)
        count = users[shared]
        share = costs[shared] // count + (given[shared] < costs[shared] % count)
        given[shared] += 1
        found[name] = Retained(
            exclusive[name], int(costs[shared].sum()), int(costs[mine].sum()), int(share.sum())
        )
    return found
