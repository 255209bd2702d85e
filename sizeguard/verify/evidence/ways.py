"""Find shortest paths from a root of the link to a section, to explain why it is in the image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int
from sizeguard.formats.elf import STT_SECTION
from sizeguard.linkgraph.graph import CIE, FDE, RELOCATION, START_STOP, UNWIND, SectionGraph
from sizeguard.linkgraph.graph import ENTRY as TABLE_ENTRY
from sizeguard.verify.evidence.object_evidence import Definition, NamedPiece
from sizeguard.verify.evidence.placement import Node, Placement

# Relocations of jump tables: R_X86_64_PC32, R_AARCH64_PREL32.
_RELATIVE_WORD = {"x86_64": 2, "aarch64": 261}

ENTRY, START_UP, SHUT_DOWN, EXPORTED, RETAINED, NOTE, OTHER = (
    "entry",
    "start-up",
    "shut-down",
    "exported",
    "retained",
    "note",
    "other",
)
_RANK = {ENTRY: 0, START_UP: 1, SHUT_DOWN: 2, EXPORTED: 3, RETAINED: 4, NOTE: 5, OTHER: 6}
_START_UP = (".init_array", ".ctors", ".preinit_array", ".init")
_SHUT_DOWN = (".fini_array", ".dtors", ".fini")
_KINDS = {
    "entry": ENTRY,
    "init_array": START_UP,
    "preinit_array": START_UP,
    "fini_array": SHUT_DOWN,
    "exported": EXPORTED,
    "note": NOTE,
}
_KINDS |= {"retain attribute": RETAINED}
_OF_EXCEPTIONS = (".eh_frame", ".gcc_except_table")
_NONE = -1


@dataclass(frozen=True, slots=True)
class Edge:
    """Reference from a section to bytes of another.

    symbol:  the symbol that it names
    bounds:  whether the symbol is __start_X or __stop_X, which reaches all of section X
    is_jump: whether it is in a jump table, so that its offset is not an address
    """

    source: Node
    target: Node
    offset: int
    symbol: str
    bounds: bool = False
    is_jump: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """Path from a root: the kind of root and its symbol, and the references in order.

    There are no references for a root itself.
    """

    root: str
    first: Node
    symbol: str
    edges: tuple[Edge, ...]


@dataclass(frozen=True, eq=False)
class Reasons:
    """Section graph of a link, restricted to sections in the image.

    It shows the sections that the linker kept, regardless of its rules.

    nodes: node of the graph → section of an object; nodes of objects that were not given are
           missing
    """

    placement: Placement
    graph: SectionGraph
    nodes: Mapping[int, Node]

    @cached_property
    def _numbers(self) -> dict[Node, int]:
        return {where: node for node, where in self.nodes.items()}

    @cached_property
    def _placed(self) -> dict[int, Node]:
        """Nodes that are in the image, in the map's order."""
        numbers = self._numbers
        return {numbers[where]: where for where in self.placement.address if where in numbers}

    @cached_property
    def _columns(self) -> tuple[Int, Int, Int, Int]:
        """References by source: numbers of edges, sources, targets, and each source's first.

        The source of an entry's references is its table, that of an unwind record's its function.
        """
        graph = self.graph
        holder = np.arange(len(graph.nodes), dtype=np.int64)
        for node in np.flatnonzero(graph.nodes.kind == TABLE_ENTRY).tolist():
            holder[node] = graph.section_of(node)
        edges, ends = graph.edges, graph.edges.source
        for kind in (FDE, CIE):
            into = np.flatnonzero(
                (edges.reason == UNWIND) & (graph.nodes.kind[edges.target] == kind)
            )
            holder[edges.target[into]] = holder[ends[into]]
        is_reference = np.isin(edges.reason, (RELOCATION, START_STOP, UNWIND))
        chosen = np.flatnonzero(is_reference & (edges.target < graph.nodes.sections))
        source = holder[ends[chosen]]
        order = np.lexsort((edges.offset[chosen], source))
        chosen, source = chosen[order], source[order]
        return (
            chosen,
            source,
            edges.target[chosen].astype(np.int64),
            np.searchsorted(source, np.arange(len(holder) + 1)),
        )

    def _edge(self, row: int) -> Edge:
        """Return the reference of a row, both of whose ends are in given objects."""
        nodes, edges, symbols = self.nodes, self.graph.edges, self.graph.symbols
        number, source, target = (int(column[row]) for column in self._columns[:3])
        symbol = int(edges.symbol[number])
        name = symbols.names[symbol].decode("utf-8", "backslashreplace") if symbol >= 0 else ""
        if self.graph.linker == "ld64.lld":
            name = name.removeprefix("_")
        if edges.reason[number] == START_STOP:
            return Edge(nodes[source], nodes[target], 0, name, bounds=True)
        offset = int(edges.place[number])
        is_section = symbol < 0 or int(symbols.type[symbol]) == STT_SECTION
        is_jump = (
            is_section
            and not self.graph.nodes.is_exec[source]
            and int(edges.type[number]) == self._relative_word
        )
        shown = name if name and not is_section else self.symbol_at(nodes[target], offset)
        return Edge(nodes[source], nodes[target], offset, shown, is_jump=is_jump)

    @property
    def _relative_word(self) -> int:
        return _RELATIVE_WORD.get(self.placement.objects.files[0].elf.machine, _NONE)

    def edges_from(self, node: Node) -> Iterator[Edge]:
        """Yield the references of a section's content, whether or not their targets are placed."""
        if node not in self._numbers:
            return
        chosen, _, targets, start = self._columns
        at = self._numbers[node]
        for i in range(int(start[at]), int(start[at + 1])):
            is_content = self.graph.edges.reason[chosen[i]] != UNWIND
            if is_content and int(targets[i]) in self.nodes:
                yield self._edge(i)

    def symbol_at(self, node: Node, offset: int = 0) -> str:
        """Return the symbol that covers an offset of a section; functions take precedence.

        Empty if there is none.
        """
        number, section = node
        if number not in self._names:
            tables: dict[int, list[Definition]] = {}
            for definition in self.placement.objects.files[number].definitions:
                tables.setdefault(definition.section, []).append(definition)
            self._names[number] = tables
        rows = self._names[number].get(section, [])
        covering = [row for row in rows if row.offset <= offset < row.offset + max(row.size, 1)]
        if covering:
            return min(covering, key=lambda row: (row.size, row.symbol)).symbol
        return rows[0].symbol if len(rows) == 1 else ""

    @cached_property
    def _names(self) -> dict[int, dict[int, list[Definition]]]:
        return {}

    @cached_property
    def roots(self) -> dict[Node, tuple[str, str]]:
        """Sections that are roots → kind and symbol.

        main is a root, since the code that leads to it belongs to the toolchain.
        """
        roots: dict[Node, tuple[str, str]] = {}
        symbols = self.graph.symbols
        for name in (b"_start", b"main", b"_main"):
            for i in (
                i for i, known in enumerate(symbols.names) if known == name and symbols.is_global[i]
            ):
                where = self._placed.get(int(symbols.node[i]))
                if where is not None:
                    roots.setdefault(
                        where,
                        (
                            ENTRY,
                            name.decode().removeprefix("_") if name == b"_main" else name.decode(),
                        ),
                    )
        for node, why in self.graph.root_kind.items():
            where = self._placed.get(node)
            if where is None:
                continue
            kind = _kind(why, self.placement.section(where).name)
            if where not in roots or _RANK[kind] < _RANK[roots[where][0]]:
                roots[where] = (kind, self.symbol_at(where) if kind in (EXPORTED, RETAINED) else "")
        return dict(sorted(roots.items(), key=lambda item: _RANK[item[1][0]]))

    @cached_property
    def _ways(self) -> dict[int, int]:
        """Map each node to the row of the last reference on the shortest path to it.

        The row is -1 for a root. Stronger roots are followed first.
        """
        ways: dict[int, int] = {}
        for kind in _RANK:
            found = [self._numbers[node] for node, (k, _) in self.roots.items() if k == kind]
            self._follow(found, ways)
        return ways

    @cached_property
    def _other_ways(self) -> dict[int, int]:
        """Map the other nodes in the image, which no root reaches, as _ways does.

        Their paths begin at nodes that no other one of them refers to, or in a cycle.
        """
        ways = dict(self._ways)
        left = [node for node in self._placed if node not in ways]
        _, sources, targets, _ = self._columns
        before: dict[int, int] = {}
        among = set(left)
        for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
            if source != target and source in among and target in among:
                before.setdefault(target, source)
        self._follow([node for node in left if node not in before], ways)
        for node in left:
            passed = set()
            while node not in ways and node not in passed:
                passed.add(node)
                node = before[node]
            self._follow([node], ways)
        return ways

    def _follow(self, roots: Iterable[int], ways: dict[int, int]) -> None:
        """Add the nodes that roots reach to `ways`, except those that it has."""
        _, _, targets, start = self._columns
        placed = self._placed
        waiting = [node for node in roots if node not in ways]
        ways.update(dict.fromkeys(waiting, _NONE))
        while waiting:
            following: list[int] = []
            for node in waiting:
                for i in range(int(start[node]), int(start[node + 1])):
                    target = int(targets[i])
                    if target not in ways and target in placed:
                        ways[target] = i
                        following.append(target)
            waiting = following

    def knows(self, node: Node) -> bool:
        """Return whether the section graph contains a section."""
        return node in self._numbers

    def way_to(self, node: Node) -> Way | None:
        """Find the shortest path from a root to a section; None if there is none in the image."""
        at = self._numbers.get(node, _NONE)
        return self._way(at, self._ways) if at in self._ways else None

    def other_way_to(self, node: Node) -> Way | None:
        """Find a path to a section in the image that no root reaches, from one that it must have.

        An option or a script of the linker keeps the first section.
        """
        at = self._numbers.get(node, _NONE)
        return self._way(at, self._other_ways) if at in self._other_ways else None

    def _way(self, at: int, ways: Mapping[int, int]) -> Way:
        sources = self._columns[1]
        edges: list[Edge] = []
        while (i := ways[at]) != _NONE:
            edges.append(self._edge(i))
            at = int(sources[i])
        first = self.nodes[at]
        kind, symbol = self.roots.get(first, (OTHER, self.symbol_at(first)))
        return Way(kind, first, symbol, tuple(reversed(edges)))

    def referrer_of(self, node: Node) -> Node | None:
        """Return a section of the image that leads to one without a place; None if there is none.

        The sections between them have no place, either: they may all be merged with others.
        """
        return self._missed.get(self._numbers.get(node, _NONE))

    @cached_property
    def _missed(self) -> dict[int, Node]:
        """Nodes without a place that the image leads to → the section in the image that does.

        Linkers drop references of unwind and exception tables to removed functions.
        """
        _, sources, targets, start = self._columns
        is_placed = np.zeros(len(self.graph.nodes), np.bool_)
        is_placed[list(self._placed)] = True
        found: dict[int, Node] = {}
        leaving = distinct(sources[is_placed[sources] & ~is_placed[targets]])
        waiting = [(source, self._placed[source]) for source in leaving.tolist()]
        for at, first in waiting:  # which grows
            where = self.nodes.get(at)
            if where is None or self.placement.section(where).name.startswith(_OF_EXCEPTIONS):
                continue
            for target in targets[start[at] : start[at + 1]].tolist():
                if not is_placed[target] and target not in found:
                    found[target] = first
                    waiting.append((target, first))
        return found

    def is_reached(self, piece: NamedPiece) -> bool:
        """Return whether a reference from elsewhere names the piece itself."""
        node = (piece.object, piece.section)
        at = self._numbers.get(node, _NONE)
        _, sources, targets, _ = self._columns
        for i in np.flatnonzero(targets == at).tolist():
            source = int(sources[i])
            if source not in self._ways or (
                source == at and self.placement.section(node).is_executable
            ):
                continue
            edge = self._edge(i)
            is_inside = piece.offset <= edge.offset < piece.offset + max(piece.size, 1)
            if not edge.is_jump and (edge.bounds or is_inside):
                return True
        return False


def _kind(why: str, name: str) -> str:
    if name.startswith(_START_UP):
        return START_UP
    return SHUT_DOWN if name.startswith(_SHUT_DOWN) else _KINDS.get(why, OTHER)
