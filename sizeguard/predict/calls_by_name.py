"""Find dispatcher calls in a section graph, and the operator names that they pass."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InconclusiveError
from sizeguard.columns.distinct import distinct
from sizeguard.linkgraph.edge_words import DIRECT_CALLS
from sizeguard.linkgraph.graph import RELOCATION, STRING, SectionGraph
from sizeguard.names.demangle import demangle
from sizeguard.names.short import qualified_name
from sizeguard.operators.name import operator_of
from sizeguard.runtimes.build_facts import Dispatch

_OPERATOR = re.compile(r"[A-Za-z_][\w.]*::[A-Za-z_]\w*(?:\.\w+)?(?:\(.*)?")


@dataclass(frozen=True, slots=True)
class CallSite:
    """Dispatcher calls of one section.

    names:       operators that the calls name
    is_constant: whether the name of every call is known
    """

    names: frozenset[str]
    is_constant: bool


@dataclass(frozen=True, slots=True)
class Sites:
    """Dispatcher calls of a whole graph.

    dispatchers: nodes of the dispatcher's own functions
    by_node:     section → its calls; includes data that contains the dispatcher's address
    """

    dispatchers: frozenset[int]
    by_node: dict[int, CallSite]


def dispatch_sites(graph: SectionGraph, dispatch: Dispatch) -> Sites:
    """Find the calls of functions that take an operator's name.

    A name belongs to the first call after it in the code. A call without a preceding name is
    unknown: the compiler loaded the name elsewhere. If the dispatcher's address is loaded
    (-fno-plt), the call may be anywhere, so all names of the function count for it.

    Raises InconclusiveError if the graph has no such function.
    """
    by_name, by_handle = frozenset(dispatch.by_name), frozenset(dispatch.by_handle)
    kinds: dict[bytes, int] = {}
    bare = {name.rpartition("::")[2].encode() for name in by_name | by_handle}
    for name in set(graph.symbols.names):
        if any(part in name for part in bare):
            shown = qualified_name(demangle(name.decode("utf-8", "backslashreplace")))
            if shown in by_name or shown in by_handle:
                kinds[name] = int(shown in by_name)
    is_by_name = np.array([kinds.get(name, -1) for name in graph.symbols.names], np.int8)
    if not (is_by_name == 1).any():
        raise InconclusiveError(
            f"no function {' or '.join(sorted(by_name))} in the objects, so calls of operators by"
            " name are unknown"
        )
    edges = graph.edges
    source = edges.source
    called = np.where(edges.symbol >= 0, is_by_name[edges.symbol], -1)
    chosen = np.flatnonzero((called >= 0) & (edges.reason == RELOCATION))
    own = {int(node) for node in graph.symbols.node[is_by_name >= 0].tolist() if node >= 0}
    found: dict[int, CallSite] = {}
    for node in distinct(source[chosen]).tolist():
        if node in own:
            continue
        here = chosen[(source[chosen] == node) & (called[chosen] == 1)]
        found[node] = _site(graph, node, here)
    return Sites(frozenset(own), found)


def _site(graph: SectionGraph, node: int, calls: npt.NDArray[np.int64]) -> CallSite:
    if not graph.nodes.is_exec[node]:
        # A pointer to the dispatcher: the names in its calls are unknown.
        return CallSite(frozenset(), False)
    edges = graph.edges
    given = _names(graph, node)
    is_direct = np.isin(edges.type[calls], DIRECT_CALLS)
    # A call by handle uses a handle that the same function looked up by name.
    windows = [{name for _, name in given}] if not is_direct.all() or not len(calls) else []
    begin = -1
    for end in distinct(edges.offset[calls[is_direct]]).tolist():
        windows.append({name for offset, name in given if begin < offset < end})
        begin = end
    return CallSite(frozenset().union(*windows), len(calls) > 0 and all(windows))


def _names(graph: SectionGraph, node: int) -> list[tuple[int, str]]:
    """List the operator names that a section refers to, with the relocation's offset.

    The reference may be direct or through constant data.
    """
    nodes = graph.nodes
    found = _own_names(graph, node)
    for offset, target in _references(graph, node):
        # A choice among names may be compiled to a constant table of pointers.
        is_constant = not nodes.is_write[target] or graph.names[target].startswith(
            (".data.rel.ro", "__DATA,__const", "__DATA_CONST")
        )
        if is_constant and nodes.is_alloc[target] and not nodes.is_exec[target]:
            found += [(offset, name) for _, name in _own_names(graph, target)]
    return found


def _own_names(graph: SectionGraph, node: int) -> list[tuple[int, str]]:
    found = []
    for offset, target in _references(graph, node):
        text = (
            graph.names[target]
            if graph.nodes.kind[target] == STRING
            else graph.literals.get((node, offset), "")
        )
        if _OPERATOR.fullmatch(text):
            found.append((offset, operator_of(text)))
    return found


def _references(graph: SectionGraph, node: int) -> list[tuple[int, int]]:
    """List offset and target of a section's relocations."""
    edges = graph.edges
    here = np.arange(int(edges.start[node]), int(edges.start[node + 1]))
    here = here[edges.reason[here] == RELOCATION]
    return list(zip(edges.offset[here].tolist(), edges.target[here].tolist(), strict=True))
