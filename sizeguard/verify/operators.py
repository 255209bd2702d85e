"""Turns operators, kernels and custom classes of the runtime, selected or not, into verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sizeguard.formats.demangle import demangle
from sizeguard.selection.selection import Selection
from sizeguard.verify.causes import explain
from sizeguard.verify.evidence import Evidence
from sizeguard.verify.judge import Found, judge_code, look_for
from sizeguard.verify.objects import Piece
from sizeguard.verify.result import (
    ABSENT,
    DISCARDED_BY_LINKER,
    FAIL,
    INCONCLUSIVE,
    NOT_GENERATED,
    PASS,
    PRESENT,
    STILL_THERE,
    THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.verify.tables import Entry, registered_by, registered_in, written_classes
from sizeguard.verify.universe import Universe

_KERNEL = re.compile(r"(?:^|&|\(\)> ?)sg::kernels::(\(anonymous namespace\)::)?(\w+)\(")
ENTRY_BYTES = 16


@dataclass(frozen=True, eq=False)
class Registrations:
    """What the objects write into tables, and what of it is in the shipped image, found without a symbol."""

    evidence: Evidence
    universe: Universe

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Those of the sources, and those that the objects register without the sources' macro."""
        return tuple(sorted({*self.universe.classes, *written_classes(self.evidence.objects)}))

    @cached_property
    def _written(self) -> tuple[dict[str, list[Piece]], dict[str, list[Piece]]]:
        return registered_by(self.evidence.objects, self.classes)

    @cached_property
    def _there(self) -> tuple[Mapping[str, tuple[Entry, ...]], Mapping[str, tuple[Entry, ...]]]:
        found = registered_in(self.evidence.shipped, self.classes)
        return found.operators, found.classes

    def entries(self, kind: str, name: str) -> tuple[Entry, ...]:
        return self._there[kind == "class"].get(name, ())

    def written(self, kind: str, name: str) -> list[Piece]:
        return self._written[kind == "class"].get(name, [])

    def names(self) -> Iterable[str]:
        return self._there[0]

    def files_with_entries(self) -> set[int]:
        """Objects that have an entry in the image."""
        pieces = [p for written in self._written for found in written.values() for p in found]
        return {piece.object for piece in pieces if self.evidence.placement.where(piece) is not None}


def judge_registered(tables: Registrations, kind: str, name: str, expect: str) -> Verdict:
    """An operator or a custom class, by its entry: in the objects and in the shipped image."""
    entries = tables.entries(kind, name)
    written = tables.written(kind, name)
    evidence = tables.evidence
    count = ENTRY_BYTES * len(entries)
    places = tuple(f"an entry at {e.address:#x} names it and points to code at {e.target:#x}" for e in entries)
    if expect == PRESENT:
        if entries:
            return Verdict(kind, name, PRESENT, PASS, THERE, count, places)
        how = DISCARDED_BY_LINKER if written else NOT_GENERATED
        notes = (f"no entry of the image names it; {len(written)} of the objects do",)
        return Verdict(kind, name, PRESENT, FAIL, how, 0, notes, (), "not registered: a model that names it does not run")
    if entries:
        placed = [piece for piece in written if evidence.placement.where(piece) is not None]
        piece = next(iter(placed or written), None)
        chain = explain(evidence, piece)[1] if piece and evidence.placement.address else ()
        cause = f"registered in {evidence.objects.label(piece)}" if piece else "registered"
        return Verdict(kind, name, ABSENT, FAIL, STILL_THERE, count, places, chain, cause)
    if not evidence.is_complete:
        return Verdict(kind, name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, evidence.gaps)
    if written:
        return Verdict(kind, name, ABSENT, PASS, DISCARDED_BY_LINKER, 0, ("no entry of the image names it, and the objects have one",))
    return Verdict(kind, name, ABSENT, PASS, NOT_GENERATED, 0, ("no entry of the image and none of its objects names it",))


@dataclass(frozen=True, eq=False)
class Kernels:
    """The kernels' code in the objects: functions of sg::kernels, and what takes their address as a template argument."""

    evidence: Evidence

    @cached_property
    def _pieces(self) -> dict[str, list[tuple[bool, Piece]]]:
        found: dict[str, list[tuple[bool, Piece]]] = {}
        for name, pieces in self.evidence.objects.index.items():
            if "7kernels" in name:
                match = _KERNEL.search(demangle(name.partition(".")[0]))
                if match:
                    found.setdefault(match[2], []).extend((bool(match[1]), piece) for piece in pieces)
        return found

    def pieces(self, kernel: str, only_in: str) -> list[Piece]:
        """Definitions of a kernel. only_in: the source whose object may hold it, where the name is local; empty: it is global."""
        found = []
        for is_local, piece in self._pieces.get(kernel, ()):
            in_file = self.evidence.objects.label(piece).rstrip(")").endswith(f"{only_in}.o")
            if (only_in and in_file) or (not only_in and not is_local):
                found.append(piece)
        return found

    def symbols(self, kernel: str) -> list[str]:
        """What the image may call a kernel."""
        length = len(kernel)
        prefix = f"_ZN2sg7kernels{length}{kernel}E"
        return [name for name in {**self.evidence.symbols, **self.evidence.inlined} if name.startswith(prefix)]

    def find(self, kernel: str, only_in: str) -> Found:
        return look_for(self.evidence, self.pieces(kernel, only_in), [] if only_in else self.symbols(kernel))


def judge_operators(evidence: Evidence, universe: Universe, selection: Selection, tables: Registrations) -> Iterator[Verdict]:
    """Every operator of the runtime, and every kernel that no selected operator has."""
    kept = set(selection.selected_operators(universe.operators))
    for name in universe.operators:
        yield judge_registered(tables, "operator", name, PRESENT if name in kept else ABSENT)
    for name in sorted(set(tables.names()) - set(universe.operators)):
        yield judge_registered(tables, "operator", name, ABSENT)  # of no library that a selection chooses from
    yield from _judge_kernels(evidence, universe, kept, bool(_classes(universe, selection)))


def _judge_kernels(evidence: Evidence, universe: Universe, kept: set[str], has_classes: bool) -> Iterator[Verdict]:
    kernels = Kernels(evidence)
    used = {universe.operators[name].kernel for name in kept}
    seen: set[str] = set()
    for operator in universe.operators.values():
        if operator.kernel in used or operator.kernel in seen:
            continue
        seen.add(operator.kernel)
        if has_classes and operator.library == "prepacked":
            continue  # a custom class makes its objects with them
        found = kernels.find(operator.kernel, universe.kernel_object(operator))
        yield judge_code(evidence, "kernel", operator.kernel, ABSENT, found)


def judge_classes(selection: Selection, tables: Registrations) -> Iterator[Verdict]:
    for name in tables.classes:
        yield judge_registered(tables, "class", name, PRESENT if selection.is_class_selected(name) else ABSENT)


def _classes(universe: Universe, selection: Selection) -> Sequence[str]:
    return [name for name in universe.classes if selection.is_class_selected(name)]
