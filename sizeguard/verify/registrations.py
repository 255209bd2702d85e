"""Verdicts on operators, kernels and custom classes, selected or not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Protocol

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.verdict import (
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
from sizeguard.linkgraph.elf.table_entries import POINTER
from sizeguard.names.demangle import MOST_COMPARED, demangle, function_text, without_clones
from sizeguard.names.registered import Registration
from sizeguard.verify.code_presence import FoundCode, look_for
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.evidence.object_registrations import registered_by, written_classes
from sizeguard.verify.evidence.tables import registered_in
from sizeguard.verify.why_there import explain

ENTRY_BYTES = 2 * POINTER


class RegisteredNames(Protocol):
    """Entries of registration tables by kind and name: in the shipped image and in objects."""

    @property
    def evidence(self) -> Evidence:
        """Evidence on the image that has the entries."""
        ...

    def entries(self, kind: str, name: str) -> tuple[Registration, ...]:
        """List the entries of the shipped image for a name."""
        ...

    def written(self, kind: str, name: str) -> list[NamedPiece]:
        """List the entries of the objects for a name."""
        ...


@dataclass(frozen=True, eq=False)
class Registrations:
    """Registration tables of the objects, and their entries in the shipped image.

    They are found without symbols.
    """

    evidence: Evidence
    known_classes: tuple[str, ...] = ()

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Known classes, and other classes that objects register."""
        return tuple(sorted({*self.known_classes, *written_classes(self.evidence.objects)}))

    @cached_property
    def _written(self) -> tuple[dict[str, list[NamedPiece]], dict[str, list[NamedPiece]]]:
        return registered_by(self.evidence.objects, self.classes)

    @cached_property
    def _there(
        self,
    ) -> tuple[Mapping[str, tuple[Registration, ...]], Mapping[str, tuple[Registration, ...]]]:
        found = registered_in(self.evidence.shipped, self.classes)
        return found.operators, found.classes

    def entries(self, kind: str, name: str) -> tuple[Registration, ...]:
        """List the entries of the shipped image for a name."""
        return self._there[kind == "class"].get(name, ())

    def written(self, kind: str, name: str) -> list[NamedPiece]:
        """List the entries of the objects for a name."""
        return self._written[kind == "class"].get(name, [])

    def names(self) -> Iterable[str]:
        """List the operators that the shipped image registers."""
        return self._there[0]

    def files_that_register(self) -> set[int]:
        """Objects that have an entry, in the image or not."""
        return {piece.object for piece in self._pieces()}

    def files_with_entries(self) -> set[int]:
        """Objects that have an entry in the image."""
        where = self.evidence.placement.where
        return {piece.object for piece in self._pieces() if where(piece) is not None}

    def _pieces(self) -> Iterator[NamedPiece]:
        for written in self._written:
            for found in written.values():
                yield from found


# More than 40 lines: one claim, decided by evidence in order of strength; the order is the logic.
def judge_registered(tables: RegisteredNames, kind: str, name: str, expect: str) -> Verdict:
    """Judge an operator or a custom class by its entries in objects and shipped image."""
    entries = tables.entries(kind, name)
    written = tables.written(kind, name)
    evidence = tables.evidence
    count = ENTRY_BYTES * len(entries)
    places = tuple(
        f"an entry at {e.address:#x} names it and points to code at {e.function:#x}"
        for e in entries
    )
    if expect == PRESENT:
        if entries:
            return Verdict(kind, name, PRESENT, PASS, THERE, count, places)
        how = DISCARDED_BY_LINKER if written else NOT_GENERATED
        notes = (f"no entry of the image names it; {len(written)} of the objects do",)
        return Verdict(
            kind,
            name,
            PRESENT,
            FAIL,
            how,
            0,
            notes,
            (),
            "not registered: a model that names it does not run",
        )
    if entries:
        placed = [piece for piece in written if evidence.placement.where(piece) is not None]
        piece = next(iter(placed or written), None)
        chain = explain(evidence, piece)[1] if piece and evidence.placement.address else ()
        cause = f"registered in {evidence.objects.label(piece)}" if piece else "registered"
        return Verdict(kind, name, ABSENT, FAIL, STILL_THERE, count, places, chain, cause)
    if not evidence.is_complete:
        return Verdict(kind, name, ABSENT, INCONCLUSIVE, UNKNOWN, 0, evidence.gaps)
    if written:
        return Verdict(
            kind,
            name,
            ABSENT,
            PASS,
            DISCARDED_BY_LINKER,
            0,
            ("no entry of the image names it, and the objects have one",),
        )
    return Verdict(
        kind,
        name,
        ABSENT,
        PASS,
        NOT_GENERATED,
        0,
        ("no entry of the image and none of its objects names it",),
    )


@dataclass(frozen=True, eq=False)
class Kernels:
    """Code of kernels in the objects.

    These are functions with a kernel's name in the kernels' namespace or in an unnamed one inside
    it, and functions with their address as a template argument.

    helpers: functions that have the name of a kernel but are not kernels
    """

    evidence: Evidence
    namespace: str
    helpers: frozenset[str] = frozenset()

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        namespace = re.escape(self.namespace)
        return re.compile(rf"(?:^|&|\(\)> ?){namespace}(\(anonymous namespace\)::)?(\w+)\(")

    @cached_property
    def _markers(self) -> tuple[str, str]:
        """Part of every mangled name in the namespace, and of every name with scopes."""
        last = self.namespace.removesuffix("::").rpartition("::")[2]
        return f"{len(last)}{last}", self.namespace

    def function_of(self, symbol: str) -> str:
        """Return the kernel that a symbol names, or takes as a template argument.

        symbol: mangled; or, of inlined code without a linkage name, its name with scopes
        """
        if not any(marker in symbol for marker in self._markers):
            return ""
        match = self._pattern.search(demangle(without_clones(symbol), MOST_COMPARED))
        return match[2] if match else ""

    def is_helper(self, symbol: str) -> bool:
        """Return whether a function has the name of a kernel but is not a kernel.

        A name with scopes lacks the parameters by which a helper differs from a kernel.
        """
        text = function_text(symbol)
        if text.endswith("()"):
            return any(helper.startswith(text[:-1]) for helper in self.helpers)
        return text in self.helpers

    @cached_property
    def _pieces(self) -> dict[str, list[NamedPiece]]:
        found: dict[str, list[NamedPiece]] = {}
        for symbol, pieces in self.evidence.objects.index.items():
            function = self.function_of(symbol)
            if function and not self.is_helper(symbol):
                found.setdefault(function, []).extend(pieces)
        return found

    @cached_property
    def _symbols(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for symbol in {**self.evidence.symbols, **self.evidence.inlined}:
            function = self.function_of(symbol)
            if function and not self.is_helper(symbol):
                found.setdefault(function, []).append(symbol)
        return found

    def find(self, kernel: str) -> FoundCode:
        """Look for a kernel's code."""
        return look_for(self.evidence, self._pieces.get(kernel, []), self._symbols.get(kernel, []))
