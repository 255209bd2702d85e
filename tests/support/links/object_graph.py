"""A naive graph of the sections of objects, independent of sizeguard's section graph.

Entries of registration tables (a schema string and a function) are not edges; they are separate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.formats.archive import read_archive
from sizeguard.formats.elf import (
    SHN_LORESERVE,
    SHT_RELA,
    STT_FUNC,
    Elf,
    Symbol,
    parse_elf,
    read_elf,
)
from sizeguard.formats.elf.relocations import Relocations
from sizeguard.linkgraph.elf.table_entries import POINTER, text_pairs
from sizeguard.names.registered import SCHEMAS

# number of an object in the link, index of its section
Node = tuple[int, int]


def read_graph(objects: Iterable[Path], folder: Path) -> ObjectGraph:
    """Read the sections of all objects and their relocations."""
    return ObjectGraph([pair for path in objects for pair in _elves(path, folder)])


def _elves(path: Path, folder: Path) -> Iterator[tuple[str, Elf]]:
    shown = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
    if path.suffix == ".a":
        for member, data in read_archive(path):
            label = f"{shown}({member})"
            yield label, parse_elf(Path(label), data)
    else:
        yield shown, read_elf(path)


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    function: Node
    holder: Node
    offset: int


class ObjectGraph:
    """A graph of the sections of objects, with relocations as edges.

    Entries of operator tables are not edges; they are separate.
    """

    def __init__(self, objects: Sequence[tuple[str, Elf]]) -> None:
        """Build the graph of labelled objects."""
        self.objects = objects
        self.globals: dict[str, Node] = {}
        self.names: dict[Node, str] = {}
        for number, (_, elf) in enumerate(objects):
            for symbol in elf.symbols:
                if 0 < symbol.section < SHN_LORESERVE:
                    node = (number, symbol.section)
                    if symbol.binding:
                        node = self.globals.setdefault(symbol.name, node)
                    if symbol.type == STT_FUNC:
                        self.names.setdefault(node, symbol.name)
        self.edges: dict[Node, set[Node]] = {}
        self.entries: list[_Entry] = []
        for number, (_, elf) in enumerate(objects):
            for section in elf.sections:
                if (
                    section.type == SHT_RELA
                    and section.info < len(elf.sections)
                    and elf.sections[section.info].is_allocated
                ):
                    self._add(number, elf, section.info, elf.relocation_table(section))

    def _add(self, number: int, elf: Elf, holder: int, table: Relocations) -> None:
        symbols = elf.symbols
        of_entries: set[int] = set()
        is_data = not elf.sections[holder].is_executable
        for pair in text_pairs(elf, symbols, table) if is_data else ():
            schema = SCHEMAS.text.match(pair.text)
            function = self._target(number, symbols[pair.symbol]) if schema else None
            if schema and function is not None:
                name = schema[1].decode()
                self.entries.append(_Entry(name, function, (number, holder), pair.offset))
                of_entries |= {pair.offset, pair.offset + POINTER}
        targets = self.edges.setdefault((number, holder), set())
        for offset, index in zip(table.offset.tolist(), table.symbol.tolist(), strict=True):
            if index < len(symbols) and offset not in of_entries:
                target = self._target(number, symbols[index])
                if target is not None:
                    targets.add(target)

    def _target(self, number: int, symbol: Symbol) -> Node | None:
        if symbol.binding:
            return self.globals.get(symbol.name)
        return (number, symbol.section) if 0 < symbol.section < SHN_LORESERVE else None

    def section(self, node: Node) -> str:
        """Return the name of a section."""
        return self.objects[node[0]][1].sections[node[1]].name

    def roots(self) -> list[Node]:
        """List the roots of the program: main or _start, and the arrays of functions to run."""
        roots = [self.globals[name] for name in ("main", "_start") if name in self.globals]
        for number, (_, elf) in enumerate(self.objects):
            roots += [
                (number, s.index)
                for s in elf.sections
                if s.name.startswith((".init_array", ".fini_array", ".preinit_array"))
            ]
        return roots

    def closure(
        self, roots: Iterable[Node], without: frozenset[Node] | set[Node] = frozenset()
    ) -> set[Node]:
        """Return everything that the roots reach without passing some sections."""
        seen = set(roots) - without
        waiting = list(seen)
        while waiting:
            for target in self.edges.get(waiting.pop(), ()):
                if target not in seen and target not in without:
                    seen.add(target)
                    waiting.append(target)
        return seen
