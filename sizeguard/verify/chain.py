"""Turns placed input sections and their relocations into why one of them is there: the way from a root to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sizeguard.formats.elf import SHN_LORESERVE, SHT_NOTE, STT_SECTION, Elf, Symbol
from sizeguard.verify.objects import ObjectFile, Piece
from sizeguard.verify.placement import Node, Placement

SHF_GNU_RETAIN = 0x200000
SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY = 14, 15, 16
_START_UP = (".init_array", ".ctors", ".preinit_array", ".init")
_SHUT_DOWN = (".fini_array", ".dtors", ".fini")
_BOUNDS = ("__start_", "__stop_")
# What jump tables are made of: R_X86_64_PC32, R_AARCH64_PREL32.
_RELATIVE_WORD = {"x86_64": 2, "aarch64": 261}

ENTRY, START_UP, SHUT_DOWN, EXPORTED, RETAINED, NOTE = "entry", "start-up", "shut-down", "exported", "retained", "note"
_RANK = {ENTRY: 0, START_UP: 1, SHUT_DOWN: 2, EXPORTED: 3, RETAINED: 4, NOTE: 5}


@dataclass(frozen=True, slots=True)
class Edge:
    """A reference: from a section to bytes of another.

    symbol: what it names. bounds: __start_X reaches all of X. is_jump: of a jump table, whose offset is no address.
    """

    source: Node
    target: Node
    offset: int
    symbol: str
    bounds: bool = False
    is_jump: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """root: what kind of root the way begins at, and by which symbol; edges in order, none for a root itself."""

    root: str
    first: Node
    symbol: str
    edges: tuple[Edge, ...]


@dataclass(frozen=True, eq=False)
class Reasons:
    """The graph of what is in an image. Only placed sections count: what the linker kept, whatever its rules."""

    placement: Placement
    elf: Elf

    @cached_property
    def _definitions(self) -> dict[str, tuple[Node, int]]:
        """Global symbol → section and offset of the definition that was placed, or else of any."""
        found: dict[str, tuple[Node, int]] = {}
        for number, file in enumerate(self.placement.objects.files):
            for symbol in file.symbols:
                if symbol.binding and 0 < symbol.section < SHN_LORESERVE:
                    node = (number, symbol.section)
                    if symbol.name not in found or (node in self.placement.address and found[symbol.name][0] not in self.placement.address):
                        found[symbol.name] = (node, symbol.address)
        return found

    def edges_from(self, node: Node) -> Iterator[Edge]:
        file = self.placement.objects.files[node[0]]
        table = file.relocations.get(node[1])
        if table is None:
            return
        is_code = file.elf.sections[node[1]].is_executable
        for index, addend, type_ in zip(table.symbol.tolist(), table.addend.tolist(), table.type.tolist(), strict=True):
            if index >= len(file.symbols):
                continue
            symbol = file.symbols[index]
            if symbol.section == 0 and symbol.name.startswith(_BOUNDS):
                yield from self._bounded(node, symbol.name)
                continue
            target = self._target(node[0], symbol)
            if target is not None:
                # A PC-relative field counts from its end; a section's symbol plus the addend is the place.
                offset = target[1] + (addend + 4 * is_code if symbol.type == STT_SECTION else 0)
                is_jump = symbol.type == STT_SECTION and not is_code and type_ == _RELATIVE_WORD.get(file.elf.machine)
                yield Edge(node, target[0], offset, self._name(target[0], symbol, offset), is_jump=is_jump)

    def _target(self, number: int, symbol: Symbol) -> tuple[Node, int] | None:
        if symbol.binding and symbol.name:
            return self._definitions.get(symbol.name)
        return ((number, symbol.section), symbol.address) if 0 < symbol.section < SHN_LORESERVE else None

    def _bounded(self, node: Node, name: str) -> Iterator[Edge]:
        wanted = name.removeprefix("__start_").removeprefix("__stop_")
        for target in self.placement.address:
            if self.placement.section(target).name == wanted:
                yield Edge(node, target, 0, name, bounds=True)

    def _name(self, node: Node, symbol: Symbol, offset: int) -> str:
        return symbol.name if symbol.name and symbol.type != STT_SECTION else self.symbol_at(node, offset)

    def symbol_at(self, node: Node, offset: int = 0) -> str:
        """The symbol that covers an offset of a section, a function before others; empty if there is none."""
        file = self.placement.objects.files[node[0]]
        return self._symbols(file).get(node[1], _NONE).at(offset)

    def _symbols(self, file: ObjectFile) -> dict[int, _Names]:
        if file.label not in self._names:
            tables: dict[int, _Names] = {}
            for name, section, offset, size in file.pieces:
                tables.setdefault(section, _Names([])).rows.append((offset, size, name))
            self._names[file.label] = tables
        return self._names[file.label]

    @cached_property
    def _names(self) -> dict[str, dict[int, _Names]]:
        return {}

    @cached_property
    def roots(self) -> dict[Node, tuple[str, str]]:
        """Section → kind of root and symbol."""
        roots: dict[Node, tuple[str, str]] = {}

        def add(node: Node, kind: str, symbol: str) -> None:
            if node in self.placement.address and (node not in roots or _RANK[kind] < _RANK[roots[node][0]]):
                roots[node] = (kind, symbol)

        for name in ("_start", "main", "_main"):
            if name in self._definitions:
                add(self._definitions[name][0], ENTRY, name)
        for name in self._exported:
            if name in self._definitions:
                add(self._definitions[name][0], EXPORTED, name)
        for node in self.placement.address:
            section = self.placement.section(node)
            if section.type in (SHT_INIT_ARRAY, SHT_PREINIT_ARRAY) or section.name.startswith(_START_UP):
                add(node, START_UP, "")
            elif section.type == SHT_FINI_ARRAY or section.name.startswith(_SHUT_DOWN):
                add(node, SHUT_DOWN, "")
            elif section.flags & SHF_GNU_RETAIN:
                add(node, RETAINED, self.symbol_at(node))
            elif section.type == SHT_NOTE:
                add(node, NOTE, "")
        return roots

    @property
    def _exported(self) -> Iterable[str]:
        for table in self.elf.dynamic_symbols:
            for symbol in table.objects():
                if symbol.section and symbol.name:
                    yield symbol.name.partition("@")[0]

    @cached_property
    def _ways(self) -> dict[Node, Edge | None]:
        """Section → the edge that the shortest way to it ends in; None for a root. Stronger kinds of roots go first."""
        ways: dict[Node, Edge | None] = {}
        for kind in _RANK:
            waiting = [node for node, (k, _) in self.roots.items() if k == kind and node not in ways]
            ways.update(dict.fromkeys(waiting))
            while waiting:
                following: list[Node] = []
                for node in waiting:
                    for edge in self.edges_from(node):
                        if edge.target not in ways and edge.target in self.placement.address:
                            ways[edge.target] = edge
                            following.append(edge.target)
                waiting = following
        return ways

    def way_to(self, node: Node) -> Way | None:
        """The shortest way from a root; None if nothing that is placed leads there."""
        if node not in self._ways:
            return None
        edges: list[Edge] = []
        at = node
        while (edge := self._ways[at]) is not None:
            edges.append(edge)
            at = edge.source
        kind, symbol = self.roots[at]
        return Way(kind, at, symbol, tuple(reversed(edges)))

    def is_reached(self, piece: Piece) -> bool:
        """Whether a reference from elsewhere in the image names the piece itself, not just its section."""
        node = (piece.object, piece.section)
        return any(
            edge.bounds or piece.offset <= edge.offset < piece.offset + max(piece.size, 1)
            for source in self.placement.address
            if source in self._ways and (source != node or not self.placement.section(node).is_executable)
            for edge in self.edges_from(source)
            if edge.target == node and not edge.is_jump
        )


@dataclass(frozen=True, slots=True)
class _Names:
    rows: list[tuple[int, int, str]]

    def at(self, offset: int) -> str:
        covering = [row for row in self.rows if row[0] <= offset < row[0] + max(row[1], 1)]
        return min(covering, key=lambda row: (row[1], row[2]))[2] if covering else (self.rows[0][2] if len(self.rows) == 1 else "")


_NONE = _Names([])
