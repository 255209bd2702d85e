"""Turns what a person names (a symbol, a section, an operator, a kernel, one of its dtypes) into nodes of a section graph."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sizeguard.errors import InputError
from sizeguard.formats.demangle import demangle
from sizeguard.linkgraph.graph import ENTRY, SectionGraph

KINDS = ("operator", "symbol", "section", "kernel", "dtype")


@dataclass(frozen=True, slots=True)
class Subject:
    """name: as it is shown; kind: of KINDS."""

    name: str
    kind: str
    nodes: tuple[int, ...]


def operator_of(text: str) -> str:
    """aten::add.Tensor of the text of an entry, "aten::add.Tensor(tts)t"; the text itself if it is no schema."""
    return text.partition("(")[0]


def operators(graph: SectionGraph) -> dict[str, list[int]]:
    """Operator → its table entries."""
    found: dict[str, list[int]] = {}
    for node in np.flatnonzero(graph.nodes.kind == ENTRY).tolist():
        found.setdefault(operator_of(graph.names[node]), []).append(node)
    return found


def find_subject(graph: SectionGraph, text: str, dtype_of: Callable[[str], str]) -> Subject:
    """What the text names; `dtype_of` tells the dtype in a mangled name. Raises InputError if nothing is called so.

    `operator:Dtype` is that dtype's branches of the operator; an operator without its overload is all of its overloads.
    """
    table = operators(graph)
    head, colon, dtype = text.rpartition(":")
    if colon and not head.endswith(":") and dtype[:1].isupper():
        entries = _entries(table, head)
        if entries:
            return Subject(text, "dtype", _branches(graph, entries, dtype, dtype_of))
    entries = _entries(table, text)
    if entries:
        return Subject(text, "operator", tuple(entries))
    found = _symbols(graph, text)
    if found:
        return Subject(text, "symbol", found)
    # An operator that is not registered: its kernel may be there all the same.
    name = text.partition("::")[2].partition(".")[0]
    found = _symbols(graph, f"kernels::{name}") if name else ()
    if found:
        return Subject(text, "kernel", found)
    nodes = graph.nodes
    sections = tuple(i for i in range(nodes.sections) if graph.names[i] == text and nodes.is_alloc[i])
    if sections:
        return Subject(text, "section", sections)
    raise InputError(f"nothing is called {text}{_nearest(graph, text, table)}")


def _entries(table: dict[str, list[int]], text: str) -> list[int]:
    if text in table:
        return table[text]
    return [node for name, nodes in table.items() if name.partition(".")[0] == text for node in nodes]


def _symbols(graph: SectionGraph, text: str) -> tuple[int, ...]:
    symbols = graph.symbols
    raw = text.encode()
    exact = {int(node) for name, node in zip(symbols.names, symbols.node.tolist(), strict=True) if name == raw and node >= 0}
    if not exact:
        # A name as people write it, with or without parameters. 1.7 µs a name, 5,000 symbols.
        bare = text.partition("(")[0].rpartition("::")[2].partition("<")[0].encode()
        for name, node in zip(symbols.names, symbols.node.tolist(), strict=True):
            if node >= 0 and bare in name and name[:2] == b"_Z":
                shown = demangle(name.decode("utf-8", "backslashreplace"))
                if (
                    shown == text
                    or text in (short_name(shown), short_name(shown).rpartition("::")[2])
                    or short_name(shown).endswith("::" + text)
                ):
                    exact.add(node)
    nodes = graph.nodes
    loaded = {node for node in exact if nodes.is_alloc[node]}
    return tuple(sorted(loaded or exact))


def short_name(shown: str) -> str:
    """A demangled name without return type and parameters."""
    return _short(shown.replace("operator()", "operator\0")).replace("\0", "()")


def _short(shown: str) -> str:
    depth = 0
    end = len(shown)
    for i, character in enumerate(shown):
        if character == "<":
            depth += 1
        elif character == ">":
            depth -= 1
        elif character == "(" and depth == 0 and not shown.startswith("(anonymous namespace)", i):
            end = i
            break
    head = shown[:end]
    depth = 0
    for i in range(len(head) - 1, -1, -1):
        if head[i] == ">":
            depth += 1
        elif head[i] == "<":
            depth -= 1
        elif head[i] == " " and depth == 0 and not head.endswith("(anonymous", 0, i):
            return head[i + 1 :]
    return head


def _branches(graph: SectionGraph, entries: list[int], dtype: str, dtype_of: Callable[[str], str]) -> tuple[int, ...]:
    """Sections that the entries reach whose symbol carries the dtype."""
    from sizeguard.linkgraph.live import reachable

    reached = reachable(graph, entries)
    found = []
    for node in np.flatnonzero(reached[: graph.nodes.sections]).tolist():
        name = graph.symbol_of(node)
        if name and dtype in dtype_of(name).split("+"):
            found.append(node)
    return tuple(found)


def _nearest(graph: SectionGraph, text: str, table: dict[str, list[int]]) -> str:
    near = difflib.get_close_matches(text, [*table, *(name for name in set(graph.names[: graph.nodes.sections]))], n=1, cutoff=0.75)
    return f"; nearest is {near[0]}" if near else " in the objects of this link"
