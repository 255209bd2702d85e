"""Find merged strings and constants in an image by their content."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.linkgraph.graph import CONSTANT, PART, STRING, SectionGraph
from sizeguard.linkgraph.live import live


@dataclass(frozen=True, slots=True)
class Piece:
    """Node of a section graph, and the possible addresses of its bytes, the likeliest first.

    is_named: a symbol may be the bytes' current owner
    is_row:   the map gives the place, but rows of merged sections may overlap it
    """

    node: int
    places: tuple[int, ...]
    size: int
    is_named: bool = False
    is_row: bool = False


class LoadedContent(Protocol):
    """Loaded bytes of an image."""

    def at(self, address: int, size: int) -> bytes:
        """Return loaded bytes; fewer if their section ends before."""
        ...

    def sections_of(self, name: str) -> list[tuple[int, int]]:
        """Return address and size of the sections whose name begins with `name`."""
        ...

    def merged_sections(self) -> list[tuple[int, int]]:
        """Return address and size of the sections of merged strings or constants."""
        ...


@dataclass(frozen=True, slots=True)
class _Region:
    """Bytes of merged sections; names: of these sections in the map, none if it has no rows."""

    address: int
    content: bytes
    names: frozenset[str]


def find_merged(
    graph: SectionGraph,
    rows: Sequence[InputSection],
    is_merged: Sequence[bool],
    content: LoadedContent,
) -> Iterator[Piece]:
    """Find the places of linked strings and constants.

    A string that is the end of a longer string is not a piece.
    """
    if graph.linker == "ld64.lld":
        yield from _literals(graph, rows, is_merged, content)
        return
    outputs = _outputs(graph, rows)
    merged = [r for r, m in zip(rows, is_merged, strict=True) if m and r.output in outputs]
    regions = _regions(merged, content)
    # mold merges into sections of their own, keeps labels of the compiler, and lists no rows.
    is_mold = graph.linker == "mold"
    if is_mold:
        regions += _regions_of(content.merged_sections(), content)
    starts = _string_starts(regions)
    edges = graph.edges
    is_end = np.zeros(len(graph.nodes), bool)
    inside = (edges.reason == PART) & (graph.nodes.kind[edges.source] == STRING)
    is_end[edges.target[inside & live(graph)[edges.source]]] = True
    for node in np.flatnonzero(live(graph) & ~is_end).tolist():
        if graph.nodes.kind[node] == STRING:
            text = graph.names[node].encode() + b"\0"
            places = starts.get(text) or _find(regions, text, 1, None)
            yield Piece(node, tuple(places), len(text), is_mold)
        elif graph.nodes.kind[node] == CONSTANT:
            value = bytes.fromhex(graph.names[node])
            name = graph.names[graph.section_of(node)]
            places = _find(regions, value, int(graph.nodes.align[node]), name)
            yield Piece(node, tuple(places), len(value), is_mold)


def _outputs(graph: SectionGraph, rows: Sequence[InputSection]) -> set[str]:
    """Return the output sections that contain linked strings and constants."""
    kind = graph.nodes.kind
    pieces = np.flatnonzero((kind == STRING) | (kind == CONSTANT))
    names = {graph.names[graph.section_of(node)] for node in pieces.tolist()}
    rows_of = {row for name in names for row in _names_of_rows(name)}
    return {row.output for row in rows if row.name in rows_of}


def _names_of_rows(section: str) -> Iterator[str]:
    """Yield the names that a map may give to merged sections: .rodata.cst4 and .rodata.

    lld before version 15 names them as their output section, and gold names only what they hold.
    """
    yield from ("** merge strings", "** merge constants")
    while section:
        yield section
        section = section.rpartition(".")[0]


def _regions(rows: Sequence[InputSection], content: LoadedContent) -> list[_Region]:
    """Join adjacent rows. Rows overlap where GNU ld lists sizes before merging."""
    found: list[tuple[str, int, int, set[str]]] = []
    for row in sorted(rows, key=lambda row: (row.output, row.address, row.size)):
        low, high, names = row.address, row.address + row.size, {row.name}
        if found and found[-1][0] == row.output and low <= found[-1][2]:
            _, low, end, others = found.pop()
            high, names = max(high, end), names | others
        found.append((row.output, low, high, names))
    return [
        _Region(low, content.at(low, high - low), frozenset(names)) for _, low, high, names in found
    ]


def _regions_of(sections: Sequence[tuple[int, int]], content: LoadedContent) -> list[_Region]:
    """Return the regions of sections without rows."""
    return [_Region(start, content.at(start, size), frozenset()) for start, size in sections]


def _string_starts(regions: Sequence[_Region]) -> dict[bytes, list[int]]:
    """Map the strings of all regions, each with its final NUL, to their addresses."""
    found: dict[bytes, list[int]] = {}
    for region in regions:
        start = 0
        while True:
            end = region.content.find(b"\0", start) + 1
            if not end:
                break
            found.setdefault(region.content[start:end], []).append(region.address + start)
            start = end
    return found


def _find(regions: Sequence[_Region], value: bytes, align: int, name: str | None) -> Iterator[int]:
    """Yield the aligned addresses of some bytes in regions that may hold a section of that name."""
    named = frozenset(() if name is None else _names_of_rows(name))
    for region in regions:
        if named and region.names and region.names.isdisjoint(named):
            continue
        at = region.content.find(value)
        while at >= 0:
            if (region.address + at) % max(align, 1) == 0:
                yield region.address + at
            at = region.content.find(value, at + 1)


def _literals(
    graph: SectionGraph,
    rows: Sequence[InputSection],
    is_merged: Sequence[bool],
    content: LoadedContent,
) -> Iterator[Piece]:
    """Find the places of Mach-O's strings, which the map lists, and constants, which it omits."""
    by_bytes: dict[bytes, list[int]] = {}
    for row, merged in zip(rows, is_merged, strict=True):
        if merged and row.size:
            by_bytes.setdefault(content.at(row.address, row.size), []).append(row.address)
    constants = _regions_of(content.sections_of("__literal"), content)
    for node in sorted(node for node in graph.contents if live(graph)[node]):
        value = graph.contents[node]
        places = by_bytes.get(value) or _find(constants, value, len(value), None)
        yield Piece(node, tuple(places), len(value), is_named=True)
