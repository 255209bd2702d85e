"""Find the functions that code refers to, directly or by a table of addresses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import Definition, NamedPiece
from sizeguard.verify.evidence.placement import MOST_OF_WRAPPER, Node

_DEEPEST = 4

# Sections that refer to every function.
_UNWIND = ("eh_frame", "__compact_unwind")

Place = tuple[Node, int, int]  # a section and half-open offsets in it


@dataclass(frozen=True, eq=False)
class References:
    """References of the objects' code."""

    evidence: Evidence

    @cached_property
    def _tables(self) -> dict[Node, list[Definition]]:
        """Definitions of each section."""
        found: dict[Node, list[Definition]] = {}
        for number, file in enumerate(self.evidence.own_files()):
            for definition in file.definitions:
                found.setdefault((number, definition.section), []).append(definition)
        return found

    def at(self, node: Node, offset: int) -> NamedPiece | None:
        """Return the definition at an offset of a section."""
        rows = self._tables.get(node, [])
        found = [row for row in rows if row.offset <= offset < row.offset + max(row.size, 1)]
        found = found or (rows if len(rows) == 1 else [])
        if not found:
            return None
        return min(found, key=lambda row: (row.size, row.symbol)).in_object(node[0])

    def place_of(self, piece: NamedPiece) -> Place:
        """Return the bytes of a piece."""
        return (piece.object, piece.section), piece.offset, piece.offset + piece.size

    def between(self, start: int, end: int) -> Place | None:
        """Return the bytes of the image from `start` to `end` as a range of a section."""
        node = self.evidence.placement.owner(start)
        if node is None or node[0] >= self.evidence.own:
            return None
        base = self.evidence.placement.address[node]
        return node, start - base, end - base

    def symbols_of(self, place: Place, depth: int = 0) -> Iterator[tuple[str, NamedPiece | None]]:
        """Yield the names of functions that bytes refer to, with definitions in the objects.

        A table of addresses is replaced by the functions in it.
        """
        node, low, high = place
        file = self.evidence.objects.files[node[0]]
        table = file.relocations.get(node[1])
        if table is None or depth > _DEEPEST:
            return
        chosen = np.flatnonzero((table.offset >= low) & (table.offset < high))
        pairs = {(int(table.symbol[i]), int(table.addend[i])) for i in chosen.tolist()}
        for index, addend in sorted(pairs):
            if index >= len(file.symbols):
                continue
            symbol = file.symbols[index]
            if not 0 < symbol.section < len(file.elf.sections):
                if symbol.name:
                    yield symbol.name, None
                continue
            section = file.elf.sections[symbol.section]
            target = (node[0], symbol.section)
            offset = symbol.address if symbol.name else symbol.address + addend
            piece = self.at(target, offset)
            if section.is_executable:
                if piece is not None:
                    yield symbol.name or piece.symbol, piece
            elif section.is_allocated and target != node:
                end = offset + symbol.size if symbol.name and symbol.size else section.size
                start = offset if symbol.name else 0
                yield from self.symbols_of((target, start, end), depth + 1)

    def users_of(self, piece: NamedPiece) -> Iterator[NamedPiece | None]:
        """Yield the functions of the image that refer to a function; None for data that does.

        A local function is referred to by its own object alone.
        """
        for number, file in enumerate(self.evidence.own_files()):
            for index, section in enumerate(file.elf.sections):
                node = (number, index)
                if node not in self.evidence.placement.address or index not in file.relocations:
                    continue
                if section.is_executable:
                    for definition in self._tables.get(node, ()):
                        user = definition.in_object(number)
                        if user != piece and self._refers(self.place_of(user), piece):
                            yield user
                elif not section.name.endswith(_UNWIND) and self._refers(
                    (node, 0, section.size), piece
                ):
                    yield None

    def _refers(self, place: Place, piece: NamedPiece) -> bool:
        found = self.symbols_of(place)
        return any(
            target == piece if target is not None else name == piece.symbol
            for name, target in found
        )

    def called(self, place: Place, depth: int = 0) -> set[str]:
        """Return the symbols that bytes refer to, including those behind up to `depth` jumps."""
        names: set[str] = set()
        for name, piece in self.symbols_of(place):
            names.add(name)
            if piece is not None and piece.size <= MOST_OF_WRAPPER and depth < _DEEPEST:
                names |= self.called(self.place_of(piece), depth + 1)
        return names
