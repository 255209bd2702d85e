"""Turns the objects of a link into who reaches which section: one operator, several, or the program itself.

Operators are found where they are registered: entries of constant tables, a schema string beside a function. What only one of
them reaches is its own; what the program reaches without any is its core.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.names import kernel_of
from sizeguard.attribution.result import CORE, SHARED
from sizeguard.formats.archive import read_archive
from sizeguard.formats.elf import SHN_LORESERVE, SHT_RELA, STT_FUNC, Elf, Symbol, parse_elf, read_elf

_SCHEMA = re.compile(rb"[\w.]+::[\w.]+\(")

# An object by its number in the link, a section by its index.
Node = tuple[int, int]

ENTRY_SIZE = 16  # bytes: two pointers


@dataclass(frozen=True, slots=True)
class Entry:
    """A registration: bytes [offset, offset + ENTRY_SIZE) of an input section."""

    object: str
    section: str
    offset: int
    operator: str


@dataclass(frozen=True, slots=True)
class Reached:
    """owners: (object, input section) → operator, CORE or SHARED; "a, b" if one kernel serves both.

    kernels: operator → its kernel's C++ name
    """

    owners: Mapping[tuple[str, str], str]
    kernels: Mapping[str, str]
    entries: tuple[Entry, ...]


def reach(objects: Iterable[Path], folder: Path) -> Reached:
    """Follow the relocations of all objects. `folder` is where the linker ran: maps name objects relative to it."""
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
                # Archives may hold two members of one name, which maps do not tell apart: what is reached wins.
                if owners.get((name, section.name), CORE) == CORE:
                    owners[name, section.name] = owner
    kernels = {name: kernel_of(graph.names.get(function, "")) for function, names in operators.items() for name in names}
    entries = tuple(Entry(graph.objects[e.holder[0]][0], graph.section(e.holder), e.offset, e.name) for e in graph.entries)
    return Reached(owners, kernels, entries)


def read_graph(objects: Iterable[Path], folder: Path) -> SectionGraph:
    """The sections of all objects, and what each relocates against."""
    return SectionGraph([pair for path in objects for pair in _elves(path, folder)])


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


class SectionGraph:
    """Sections are nodes, relocations are edges; entries of operator tables are left out and kept apart."""

    def __init__(self, objects: Sequence[tuple[str, Elf]]) -> None:
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
                if section.type == SHT_RELA and section.info < len(elf.sections) and elf.sections[section.info].is_allocated:
                    self._add(number, elf, section.info, list(elf.relocations(section)))

    def _add(self, number: int, elf: Elf, holder: int, relocations: list[tuple[int, int, int]]) -> None:
        at = {offset: (elf.symbols[index], addend) for offset, index, addend in relocations if index < len(elf.symbols)}
        is_data = not elf.sections[holder].is_executable
        table: set[int] = set()
        for offset, (symbol, addend) in at.items():
            name = self._schema(elf, symbol, addend) if is_data and offset + 8 in at else ""
            function = self._target(number, at[offset + 8][0]) if name else None
            if function is not None:
                self.entries.append(_Entry(name, function, (number, holder), offset))
                table |= {offset, offset + 8}
        targets = self.edges.setdefault((number, holder), set())
        for offset, (symbol, _) in at.items():
            target = self._target(number, symbol)
            if target is not None and offset not in table:
                targets.add(target)

    def _target(self, number: int, symbol: Symbol) -> Node | None:
        if symbol.binding:
            return self.globals.get(symbol.name)
        return (number, symbol.section) if 0 < symbol.section < SHN_LORESERVE else None

    def _schema(self, elf: Elf, symbol: Symbol, addend: int) -> str:
        """The operator's name if the relocation points at a schema string."""
        if not 0 < symbol.section < len(elf.sections) or symbol.address + addend < 0:
            return ""
        match = _SCHEMA.match(elf.content(elf.sections[symbol.section]), symbol.address + addend)
        return match[0][:-1].decode() if match else ""

    def section(self, node: Node) -> str:
        return self.objects[node[0]][1].sections[node[1]].name

    def roots(self) -> list[Node]:
        roots = [self.globals[name] for name in ("main", "_start") if name in self.globals]
        for number, (_, elf) in enumerate(self.objects):
            roots += [(number, s.index) for s in elf.sections if s.name.startswith((".init_array", ".fini_array", ".preinit_array"))]
        return roots

    def closure(self, roots: Iterable[Node], without: frozenset[Node] | set[Node] = frozenset()) -> set[Node]:
        """All that the roots reach, without passing by some sections."""
        seen = set(roots) - without
        waiting = list(seen)
        while waiting:
            for target in self.edges.get(waiting.pop(), ()):
                if target not in seen and target not in without:
                    seen.add(target)
                    waiting.append(target)
        return seen
