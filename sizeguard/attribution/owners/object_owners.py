"""Owners of input sections: the operator that reaches one, several, or the program itself.

Operators are found where they are registered: in entries of constant tables, a schema string beside
a function. Sections that only one operator reaches are its own. Sections that the program reaches
without any operator are its core.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.size_report import CORE, SHARED
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
from sizeguard.linkgraph.elf.table_entries import POINTER, entries_of
from sizeguard.names.registered import SCHEMAS
from sizeguard.runtimes.known import kernel_of

# Number of an object in the link, index of its section.
Node = tuple[int, int]

ENTRY_SIZE = 2 * POINTER  # bytes


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    """Registration of an operator: bytes [offset, offset + ENTRY_SIZE) of an input section."""

    object: str
    section: str
    offset: int
    operator: str


@dataclass(frozen=True, slots=True)
class Reached:
    """Operators that reach the input sections of a link.

    owners:  (object, input section) → operator, CORE or SHARED; "a, b" if one kernel serves both
    kernels: operator → its kernel's C++ name
    """

    owners: Mapping[tuple[str, str], str]
    kernels: Mapping[str, str]
    entries: tuple[ObjectEntry, ...]


def reach(objects: Iterable[Path], folder: Path) -> Reached:
    """Follow the relocations of all objects.

    folder: where the linker ran; maps name objects relative to it
    """
    graph = read_graph(objects, folder)
    operators: dict[Node, list[str]] = {}
    for entry in graph.entries:
        operators.setdefault(entry.function, []).append(entry.name)
    # Operators that share a kernel share all that it reaches.
    labels = {function: ", ".join(sorted(names)) for function, names in operators.items()}
    core = graph.closure(graph.roots())
    users: dict[Node, list[str]] = {}
    for function, label in labels.items():
        for node in graph.closure([function]) - core:
            users.setdefault(node, []).append(label)
    owners: dict[tuple[str, str], str] = {}
    for number, (name, elf) in enumerate(graph.objects):
        for section in elf.sections:
            if section.is_allocated:
                reached = users.get((number, section.index), [])
                owner = CORE if not reached else reached[0] if len(reached) == 1 else SHARED
                # Archives may have two members of one name, which maps do not distinguish: the
                # one that is reached wins.
                if owners.get((name, section.name), CORE) == CORE:
                    owners[name, section.name] = owner
    kernels = {
        name: kernel_of(graph.names.get(function, ""))
        for function, names in operators.items()
        for name in names
    }
    entries = tuple(
        ObjectEntry(graph.objects[e.holder[0]][0], graph.section(e.holder), e.offset, e.name)
        for e in graph.entries
    )
    return Reached(owners, kernels, entries)


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
    """Graph of the sections of objects, with relocations as edges.

    Entries of operator tables are no edges; they are kept apart.
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
        for offset, text, behind in entries_of(elf, symbols, table) if is_data else ():
            schema = SCHEMAS.text.match(text)
            function = self._target(number, symbols[behind]) if schema else None
            if schema and function is not None:
                name = schema[1].decode()
                self.entries.append(_Entry(name, function, (number, holder), offset))
                of_entries |= {offset, offset + POINTER}
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
        """List what the program starts with: main or _start, and the arrays of functions to run."""
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
        """Return all that the roots reach without passing some sections."""
        seen = set(roots) - without
        waiting = list(seen)
        while waiting:
            for target in self.edges.get(waiting.pop(), ()):
                if target not in seen and target not in without:
                    seen.add(target)
                    waiting.append(target)
        return seen
