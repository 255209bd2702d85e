"""Entries, kernels, classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sizeguard.claims.verdict import ABSENT, PRESENT, Verdict
from sizeguard.runtimes.sizeguard.native_universe import NativeUniverse
from sizeguard.selection.selection import Selection
from sizeguard.verify.code_presence import judge_code
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.registrations import Kernels, Registrations, judge_registered


def judge_operators(
    evidence: Evidence, universe: NativeUniverse, selection: Selection, tables: Registrations
) -> Iterator[Verdict]:
    """Every operator of the runtime, and every kernel that no selected operator has."""
    kept = set(selection.selected_operators(universe.operators))
    for name in universe.operators:
        yield judge_registered(tables, "operator", name, PRESENT if name in kept else ABSENT)
    for name in sorted(set(tables.names()) - set(universe.operators)):
        # Of no library that a selection chooses from
        yield judge_registered(tables, "operator", name, ABSENT)
    yield from _judge_kernels(evidence, universe, kept, bool(_classes(universe, selection)))


def _judge_kernels(
    evidence: Evidence, universe: NativeUniverse, kept: set[str], has_classes: bool
) -> Iterator[Verdict]:
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
    """Judge every custom class."""
    for name in tables.classes:
        yield judge_registered(
            tables, "class", name, PRESENT if selection.is_class_selected(name) else ABSENT
        )


def _classes(universe: NativeUniverse, selection: Selection) -> Sequence[str]:
    return [name for name in universe.classes if selection.is_class_selected(name)]
