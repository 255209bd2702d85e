"""Turns the objects of a link into who reaches which section: one operator, several, or the program itself.

Operators are found where they are registered: entries of constant tables, a schema string beside a function. What only one of
them reaches is its own; what the program reaches without any is its core.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.names import kernel_of
from sizeguard.formats.archive import read_archive
from sizeguard.formats.elf import SHN_LORESERVE, SHT_RELA, STT_FUNC, Elf, Symbol, parse_elf, read_elf

CORE = "(core)"
SHARED = "(shared by operators)"

_SCHEMA = re.compile(rb"[\w.]+::[\w.]+\(")

Node = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Reached:
    """owners: (object, input section) → operator, CORE or SHARED. kernels: operator → its kernel's C++ name."""

    owners: Mapping[tuple[str, str], str]
    kernels: Mapping[str, str]


def reach(objects: Iterable[Path], folder: Path) -> Reached:
    """Follow the relocations of all objects. `folder` is where the linker ran: maps name objects relative to it."""
    graph = _Graph({label: elf for path in objects for label, elf in _elves(path, folder)})
    operators = graph.operators()
    core = graph.closure(graph.roots())
    users: dict[Node, list[str]] = {}
    kernels: dict[str, str] = {}
    for function, names in operators.items():
        label = ", ".join(sorted(names))
        kernels[label] = kernel_of(graph.names.get(function, ""))
        for node in graph.closure([function]) - core:
            users.setdefault(node, []).append(label)
    owners = {}
    for label, elf in graph.elves.items():
        for section in elf.sections:
            if section.is_allocated:
                reached = users.get((label, section.index), [])
                owners[label, section.name] = CORE if not reached else reached[0] if len(reached) == 1 else SHARED
    return Reached(owners, kernels)


def _elves(path: Path, folder: Path) -> Iterator[tuple[str, Elf]]:
    shown = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
    if path.suffix == ".a":
        for member, data in read_archive(path):
            label = f"{shown}({member})"
            yield label, parse_elf(Path(label), data)
    else:
        yield shown, read_elf(path)


class _Graph:
    """Sections are nodes, relocations are edges; entries of operator tables are left out and kept apart."""

    def __init__(self, elves: Mapping[str, Elf]) -> None:
        self.elves = elves
        self.globals: dict[str, Node] = {}
        self.names: dict[Node, str] = {}
        for label, elf in elves.items():
            for symbol in elf.symbols:
                if 0 < symbol.section < SHN_LORESERVE:
                    node = (label, symbol.section)
                    if symbol.binding:
                        node = self.globals.setdefault(symbol.name, node)
                    if symbol.type == STT_FUNC:
                        self.names.setdefault(node, symbol.name)
        self.edges: dict[Node, set[Node]] = {}
        self.entries: list[tuple[str, Node]] = []
        for label, elf in elves.items():
            for section in elf.sections:
                if section.type == SHT_RELA and section.info < len(elf.sections) and elf.sections[section.info].is_allocated:
                    self._add(label, elf, section.info, list(elf.relocations(section)))

    def _add(self, label: str, elf: Elf, holder: int, relocations: list[tuple[int, int, int]]) -> None:
        at = {offset: (elf.symbols[index], addend) for offset, index, addend in relocations if index < len(elf.symbols)}
        writable_data = not elf.sections[holder].is_executable
        table: set[int] = set()
        for offset, (symbol, addend) in at.items():
            name = self._schema(elf, symbol, addend) if writable_data and offset + 8 in at else ""
            function = self._target(label, at[offset + 8][0]) if name else None
            if function is not None:
                self.entries.append((name, function))
                table |= {offset, offset + 8}
        targets = self.edges.setdefault((label, holder), set())
        for offset, (symbol, _) in at.items():
            target = self._target(label, symbol)
            if target is not None and offset not in table:
                targets.add(target)

    def _target(self, label: str, symbol: Symbol) -> Node | None:
        if symbol.binding:
            return self.globals.get(symbol.name)
        return (label, symbol.section) if 0 < symbol.section < SHN_LORESERVE else None

    def _schema(self, elf: Elf, symbol: Symbol, addend: int) -> str:
        """The operator's name if the relocation points at a schema string."""
        if not 0 < symbol.section < len(elf.sections):
            return ""
        content = elf.content(elf.sections[symbol.section])
        match = _SCHEMA.match(content, symbol.address + addend) if symbol.address + addend >= 0 else None
        return match[0][:-1].decode() if match else ""

    def operators(self) -> dict[Node, list[str]]:
        """Function → the operators that it serves: aliases share one."""
        found: dict[Node, list[str]] = {}
        for name, function in self.entries:
            found.setdefault(function, []).append(name)
        return found

    def roots(self) -> list[Node]:
        roots = [self.globals[name] for name in ("main", "_start") if name in self.globals]
        for label, elf in self.elves.items():
            roots += [(label, s.index) for s in elf.sections if s.name.startswith((".init_array", ".fini_array", ".preinit_array"))]
        return roots

    def closure(self, roots: Iterable[Node]) -> set[Node]:
        seen = set(roots)
        waiting = list(seen)
        while waiting:
            for target in self.edges.get(waiting.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return seen
