"""Resolve names that people write to nodes of a section graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError
from sizeguard.linkgraph.graph import ENTRY, SectionGraph
from sizeguard.linkgraph.live import reachable
from sizeguard.operators.name import operator_of

if TYPE_CHECKING:
    from sizeguard.names.resolve_names import SymbolNames

KINDS = ("operator", "symbol", "section", "kernel", "dtype")


@dataclass(frozen=True, slots=True)
class GraphSubject:
    """The nodes that a name means.

    name:    for display
    kind:    one of KINDS
    symbols: mangled names that it means; empty if it means no symbol
    """

    name: str
    kind: str
    nodes: tuple[int, ...]
    symbols: frozenset[str] = frozenset()


def operators(graph: SectionGraph) -> dict[str, list[int]]:
    """Map each registered operator to its table entries."""
    found: dict[str, list[int]] = {}
    for node in np.flatnonzero(graph.nodes.kind == ENTRY).tolist():
        found.setdefault(operator_of(graph.names[node]), []).append(node)
    return found


def find_subject(graph: SectionGraph, text: str, dtype_of: Callable[[str], str]) -> GraphSubject:
    """Find the nodes that a text names. `dtype_of` returns the dtype in a mangled name.

    `operator:Dtype` means the operator's branches of that dtype. An operator without its overload
    means all of its overloads.

    Raises InconclusiveError if nothing has this name.
    """
    table = operators(graph)
    head, colon, dtype = text.rpartition(":")
    if colon and not head.endswith(":") and dtype[:1].isupper():
        entries = _entries(table, head)
        if entries:
            return GraphSubject(text, "dtype", _branches(graph, entries, dtype, dtype_of))
    entries = _entries(table, text)
    if entries:
        return GraphSubject(text, "operator", tuple(entries))
    found, symbols = _symbols(graph, text)
    if found:
        return GraphSubject(text, "symbol", found, symbols)
    # The kernel of an operator that is not registered may still be present. That of another
    # overload or namespace says nothing about it.
    namespace, _, name = _without_overload(text).partition("::")
    known = [_without_overload(each).partition("::") for each in table]
    is_operator = any(each[0] == namespace for each in known)
    is_other = any(each[2] == name for each in known)
    if name and is_operator and not is_other:
        found, symbols = _symbols(graph, f"kernels::{name}")
        if found:
            return GraphSubject(text, "kernel", found, symbols)
    nodes = graph.nodes
    sections = tuple(
        i for i in range(nodes.sections) if graph.names[i] == text and nodes.is_alloc[i]
    )
    if sections:
        return GraphSubject(text, "section", sections)
    raise InconclusiveError(f"nothing is called {text}{_nearest(graph, text, table)}")


def _entries(table: dict[str, list[int]], text: str) -> list[int]:
    """Return the entries of an operator; registered names have all their scopes."""
    text = text.removeprefix("::")
    if text in table:
        return table[text]
    return [
        node for name, nodes in table.items() if _without_overload(name) == text for node in nodes
    ]


def _without_overload(operator: str) -> str:
    return operator.partition(".")[0]


def _symbols(graph: SectionGraph, text: str) -> tuple[tuple[int, ...], frozenset[str]]:
    """Return the nodes that a symbol's name means, and its mangled names."""
    of_name: dict[str, set[int]] = {}
    for name, node in zip(graph.symbols.names, graph.symbols.node.tolist(), strict=True):
        if node >= 0:
            of_name.setdefault(name.decode("utf-8", "backslashreplace"), set()).add(node)
    names = frozenset(_symbol_names(graph, of_name).meant(text).names)
    exact = {node for name in names for node in of_name[name]}
    nodes = graph.nodes
    loaded = {node for node in exact if nodes.is_alloc[node]}
    return tuple(sorted(loaded or exact)), names


def _symbol_names(graph: SectionGraph, names: Iterable[str]) -> SymbolNames:
    from sizeguard.names.resolve_names import KEPT, NOT_ADDED, SymbolNames  # 14 ms

    return SymbolNames.of(names, KEPT if graph.linker == "ld64.lld" else NOT_ADDED)


def _branches(
    graph: SectionGraph, entries: list[int], dtype: str, dtype_of: Callable[[str], str]
) -> tuple[int, ...]:
    """Find the sections that the entries reach and whose symbol contains the dtype."""
    reached = reachable(graph, entries)
    found = []
    for node in np.flatnonzero(reached[: graph.nodes.sections]).tolist():
        name = graph.symbol_of(node)
        if name and dtype in dtype_of(name).split("+"):
            found.append(node)
    return tuple(found)


def _nearest(graph: SectionGraph, text: str, table: dict[str, list[int]]) -> str:
    import difflib  # 3 ms

    base = _without_overload(text)
    near = [each for each in table if _without_overload(each) == base]
    near += difflib.get_close_matches(
        text,
        [*table, *(name for name in set(graph.names[: graph.nodes.sections]))],
        n=1,
        cutoff=0.75,
    )
    symbols = _symbol_names(
        graph, {name.decode("utf-8", "backslashreplace") for name in graph.symbols.names}
    )
    found = near[0] if near else symbols.nearest(text)
    if found == text:
        return " in the objects of this link, which only refer to it"
    return f"; nearest is {found}" if found else " in the objects of this link"
