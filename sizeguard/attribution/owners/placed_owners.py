"""Find the places of a section graph's nodes in an image from the rows of its map.

Linkers merge strings and constants, and maps do not list them; they are found by content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.attribution.owners.cuts import Cut, apart, span_end, with_cuts
from sizeguard.attribution.owners.found_pieces import Piece, find_merged
from sizeguard.attribution.owners.graph_owners import Reached, entries_of
from sizeguard.attribution.size_report import CORE
from sizeguard.base.dataclass import dataclass
from sizeguard.formats.elf import Elf
from sizeguard.formats.elf.layout import SHF_MERGE, signed
from sizeguard.formats.linkmap.link_map import InputSection, file_key, nearest_first
from sizeguard.ledger.entry_bytes import Part
from sizeguard.ledger.ledger import NONE, Ledger
from sizeguard.linkgraph.graph import ENTRY, IMPORT, SectionGraph

if TYPE_CHECKING:
    from sizeguard.formats.macho import MachO

ENTRY_SIZE = 16  # bytes: a pointer to a text, and one to a function
# Rows without a single node: UNKNOWN is of another object, MERGED has several nodes.
UNKNOWN, MERGED = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class PlacedOwners:
    """Owners of the bytes of a ledger, as labels of Reached; "" if unknown.

    ledger:    of the image, with separate owners for strings, constants and entries
    of_input:  by row of the map
    of_cut:    by owner of the ledger; owners added later have no entry
    of_import: by the name of a shared library's symbol
    """

    ledger: Ledger
    reached: Reached
    of_input: tuple[str, ...]
    of_cut: tuple[str, ...]
    of_import: Mapping[str, str]


def entry_parts(reached: Reached, rows: Sequence[InputSection]) -> list[Part]:
    """Return the entries of registration tables, as parts of the map's rows."""
    graph, row_of = reached.graph, _row_of(nodes_of_rows(reached.graph, rows))
    parts = []
    for entry in entries_of(reached):
        row = row_of.get(graph.section_of(entry.node))
        if row is not None:
            offset = int(graph.nodes.offset[entry.node])
            parts.append(Part(rows[row].file, rows[row].name, offset, ENTRY_SIZE, entry.operator))
    return parts


def place(image: Elf | MachO, ledger: Ledger, reached: Reached) -> PlacedOwners:
    """Find the owners of a ledger's bytes.

    Strings, constants and entries without a part get new owners.
    """
    graph, rows = reached.graph, ledger.inputs
    nodes = nodes_of_rows(graph, rows)
    content = _ImageContent(image)
    pieces = list(find_merged(graph, rows, [n == MERGED for n in nodes], content))
    if not isinstance(image, Elf):
        pieces += _entries(reached, rows, nodes)
    pieces += _whole_rows(rows, nodes)
    of_input = tuple(_label(reached, node) for node in nodes)
    cuts = apart(_cuts(ledger, content, reached, pieces, of_input))
    labels = (*([""] * len(ledger.owners)), *(cut.label for cut in cuts))
    imports = {
        graph.names[node]: reached.label(node)
        for node in np.flatnonzero(graph.nodes.kind == IMPORT).tolist()
    }
    return PlacedOwners(with_cuts(ledger, cuts), reached, of_input, labels, imports)


def _label(reached: Reached, node: int) -> str:
    if node == MERGED:
        return ""
    return (reached.label(node) if node >= 0 else "") or CORE


def nodes_of_rows(graph: SectionGraph, rows: Sequence[InputSection]) -> list[int]:
    """Return the section or atom of each row of a map, or UNKNOWN or MERGED."""
    objects: dict[tuple[str, str], list[int]] = {}
    for number, label in enumerate(graph.objects):
        objects.setdefault(file_key(label), []).append(number)
    free, sizes = _free_nodes(graph), _sizes(graph)
    found = []
    for row in rows:
        node = MERGED if row.is_merged else UNKNOWN
        numbers = objects.get(file_key(row.file), []) if row.file and not row.is_merged else []
        for number in nearest_first(numbers, graph.objects.__getitem__, row.file):
            same = free.get((number, row.name), [])
            fitting = [n for n in same if sizes[n] == row.size] or same[:1]
            if fitting:
                node = fitting[0]
                same.remove(node)
                break
        # Merged strings, constants and unwind records are nodes separate from their section.
        is_empty = node >= 0 and not sizes[node] and row.size > 0
        found.append((UNKNOWN if row.name == ".eh_frame" else MERGED) if is_empty else node)
    return found


def _free_nodes(graph: SectionGraph) -> dict[tuple[int, str], list[int]]:
    """Map (object, name) to its nodes: ELF sections, or Mach-O atoms by their symbols."""
    nodes = graph.nodes
    found: dict[tuple[int, str], list[int]] = {}
    if graph.linker == "ld64.lld":
        symbols = graph.symbols
        for name, node in zip(symbols.names, symbols.node.tolist(), strict=True):
            if node >= 0:
                key = int(nodes.object[node]), name.decode("utf-8", "backslashreplace")
                found.setdefault(key, []).append(node)
        return found
    for node in np.flatnonzero(nodes.is_alloc[: nodes.sections]).tolist():
        found.setdefault((int(nodes.object[node]), graph.names[node]), []).append(node)
    return found


def _sizes(graph: SectionGraph) -> list[int]:
    """Return the bytes of each section, including the entries in it."""
    sizes = graph.nodes.size.copy()
    for node in np.flatnonzero(graph.nodes.kind == ENTRY).tolist():
        sizes[graph.section_of(node)] += graph.nodes.size[node]
    return [int(size) for size in sizes.tolist()]


def _whole_rows(rows: Sequence[InputSection], nodes: Sequence[int]) -> Iterator[Piece]:
    """Yield the rows of sections and atoms, for bytes without a row so far.

    In GNU ld's maps, rows of merged sections overlap their neighbours. Padding at the end of a
    Mach-O atom has no row.
    """
    for row, node in zip(rows, nodes, strict=True):
        if node >= 0 and row.size:
            yield Piece(node, (row.address,), row.size, is_row=True)


def _row_of(nodes: Sequence[int]) -> dict[int, int]:
    """Map nodes to their first rows."""
    found: dict[int, int] = {}
    for row, node in enumerate(nodes):
        if node >= 0:
            found.setdefault(node, row)
    return found


def _entries(
    reached: Reached, rows: Sequence[InputSection], nodes: Sequence[int]
) -> Iterator[Piece]:
    graph, row_of = reached.graph, _row_of(nodes)
    for entry in entries_of(reached):
        holder = graph.section_of(entry.node)
        if holder in row_of:
            inside = int(graph.nodes.offset[entry.node] - graph.nodes.offset[holder])
            yield Piece(
                entry.node, (rows[row_of[holder]].address + inside,), ENTRY_SIZE, is_named=True
            )


class _ImageContent:
    """Loaded sections of an image by address, with their file offsets."""

    def __init__(self, image: Elf | MachO) -> None:
        self.data = image.data
        if isinstance(image, Elf):
            loaded = [s for s in image.sections if s.is_allocated and s.load_size]
            self.sections = [(signed(s.address), s.offset, s.load_size) for s in loaded]
            self.names = [s.name for s in loaded]
            self.is_merged = [bool(s.flags & SHF_MERGE) for s in loaded]
        else:
            self.sections = [(s.address, s.offset, s.file_size) for s in image.sections]
            self.names = [s.name for s in image.sections]
            self.is_merged = [False] * len(self.names)

    def sections_of(self, name: str) -> list[tuple[int, int]]:
        """Return address and size of the sections whose name begins with `name`."""
        return [
            (start, size)
            for (start, _, size), own in zip(self.sections, self.names, strict=True)
            if own.startswith(name)
        ]

    def merged_sections(self) -> list[tuple[int, int]]:
        """Return address and size of the sections of merged strings or constants."""
        return [
            (start, size)
            for (start, _, size), merged in zip(self.sections, self.is_merged, strict=True)
            if merged
        ]

    def at(self, address: int, size: int) -> bytes:
        """Return loaded bytes; fewer if their section ends before."""
        for start, offset, length in self.sections:
            if start <= address < start + length:
                low = offset + address - start
                return self.data[low : min(low + size, offset + length)].tobytes()
        return b""

    def offset(self, address: int, size: int) -> int | None:
        """Return the file offset of bytes of one section; None if they are not in one."""
        for start, offset, length in self.sections:
            if start <= address and address + size <= start + length:
                return offset + address - start
        return None


def _cuts(
    ledger: Ledger,
    content: _ImageContent,
    reached: Reached,
    pieces: Sequence[Piece],
    of_input: Sequence[str],
) -> Iterator[Cut]:
    """Yield the bytes of each piece, at its first possible place without another owner.

    Large pieces come first: the bytes of a small constant also occur within larger ones.
    """
    owners = ledger.owners
    taken = np.zeros(ledger.file.size, np.bool_)

    def is_free(piece: Piece, owner: int) -> bool:
        if owner < 0:
            return False
        if piece.is_named:
            return True
        if piece.is_row:
            return owners.input[owner] < 0 or not of_input[owners.input[owner]]
        return bool(owners.symbol[owner] == NONE and owners.part[owner] == NONE)

    for piece in sorted(pieces, key=lambda piece: (piece.is_row, -piece.size)):
        for address in piece.places:
            start = content.offset(address, piece.size)
            if start is None:
                continue
            stop = start + piece.size
            # A piece that is taken is no smaller: if it overlaps, it has the first or last byte.
            if not piece.is_row and (taken[start] or taken[stop - 1]):
                continue
            spans = list(_spans(ledger, start, stop))
            free = [span for span in spans if is_free(piece, span[2])]
            if free and (len(free) == len(spans) or piece.is_row):
                label = reached.label(piece.node) or CORE
                yield from (Cut(low, high, owner, label) for low, high, owner in free)
                taken[start:stop] = True
                break


def _spans(ledger: Ledger, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Yield the spans in [start, stop) of the file, each with its owner."""
    file = ledger.file
    span = int(np.searchsorted(file.start, start, side="right")) - 1
    while span < len(file.start) and file.start[span] < stop:
        low, high = max(start, int(file.start[span])), min(stop, span_end(file, span))
        if low < high:
            yield low, high, int(file.owner[span])
        span += 1
