"""Judge everything that a selection keeps and leaves out, by a build's evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    NOT_GENERATED,
    PASS,
    PRESENT,
    STILL_THERE,
    Verdict,
)
from sizeguard.operators.dtypes import DTYPES
from sizeguard.runtimes.sizeguard.claims.dtype_claims import judge_dtypes, judge_handlers
from sizeguard.runtimes.sizeguard.claims.feature_claims import judge_features
from sizeguard.runtimes.sizeguard.claims.operator_claims import judge_classes, judge_operators
from sizeguard.runtimes.sizeguard.native_universe import NativeUniverse
from sizeguard.selection.selection import Selection
from sizeguard.verify.bodies import CaseBodies
from sizeguard.verify.canaries import must_fail
from sizeguard.verify.code_presence import judge_code
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.registrations import Kernels, Registrations, judge_registered
from sizeguard.verify.returns import judge_returns
from sizeguard.verify.startup import judge_exports, judge_initializers, judge_ways

HANDLER = "dtype_not_selected"


def judge_selection(
    evidence: Evidence, universe: NativeUniverse, selection: Selection
) -> tuple[list[Verdict], list[str]]:
    """Judge everything that a resolved selection keeps or leaves out.

    The second result lists what is wrong with the canaries.
    """
    tables = Registrations(evidence, universe)
    branches = CaseBodies(evidence, universe, selection)
    verdicts = [
        *judge_operators(evidence, universe, selection, tables),
        *judge_classes(selection, tables),
        *judge_features(branches, universe, selection),
    ]
    if not selection.all_operators_included:
        verdicts += judge_dtypes(branches)
        handlers = list(judge_handlers(branches, HANDLER))
        verdicts += handlers
        if handlers:
            verdicts.append(judge_returns(evidence, f"{len(HANDLER)}{HANDLER}"))
        verdicts += judge_initializers(evidence, tables)
        verdicts += judge_exports(evidence)
        verdicts += judge_ways(evidence)
    return verdicts, _canaries(evidence, universe, selection, tables)


def _canaries(
    evidence: Evidence, universe: NativeUniverse, selection: Selection, tables: Registrations
) -> list[str]:
    """Judge claims that must fail; return a note for each that does not.

    A selected operator and its kernel are claimed absent, an operator that does not exist present.
    """
    notes = must_fail(
        judge_registered(tables, "operator", "canary::nobody_registered_this", PRESENT)
    )
    kept = [
        name
        for name in selection.selected_operators(universe.operators)
        if tables.entries("operator", name)
    ]
    kernels = Kernels(evidence)
    for name in kept[:1]:
        notes += must_fail(judge_registered(tables, "operator", name, ABSENT))
    for name in kept:
        operator = universe.operators[name]
        found = kernels.find(operator.kernel, universe.kernel_object(operator))
        if found.there:
            notes += must_fail(judge_code(evidence, "kernel", operator.kernel, ABSENT, found))
            break
    else:
        if kept and evidence.is_complete:
            notes.append(
                "of no selected operator the kernel was found in the image, and their entries are"
                " there"
            )
    return notes


def judge_effective(
    universe: NativeUniverse, asked: Selection, built: Selection
) -> Iterator[Verdict]:
    """Judge whether the build keeps exactly its selection.

    A misspelt build option builds something else without an error.
    """
    wider, lost = _differences(universe, asked, built)
    yield _difference(
        "anything wider than the selection",
        ABSENT,
        wider,
        "the build was told to keep more than the selection says",
    )
    yield _difference(
        "everything of the selection",
        PRESENT,
        lost,
        "the build was told to keep less than the selection says",
    )


def _differences(
    universe: NativeUniverse, asked: Selection, built: Selection
) -> tuple[list[str], list[str]]:
    """List what only the build keeps, and what only the selection does."""
    wider: list[str] = []
    lost: list[str] = []

    def compare(what: str, kept: bool, wanted: bool) -> None:
        if kept != wanted:
            (wider if kept else lost).append(what)

    for name in universe.operators:
        kept, wanted = built.is_operator_selected(name), asked.is_operator_selected(name)
        compare(f"operator {name}", kept, wanted)
    for tag in universe.tags:
        for dtype in DTYPES:
            kept = built.is_kernel_dtype_selected(tag, dtype)
            compare(f"dtype {tag}:{dtype}", kept, asked.is_kernel_dtype_selected(tag, dtype))
    for name in universe.classes:
        compare(f"class {name}", built.is_class_selected(name), asked.is_class_selected(name))
    for name in universe.features:
        compare(f"feature {name}", built.is_feature_selected(name), asked.is_feature_selected(name))
    return wider, lost


def _difference(name: str, expect: str, found: Sequence[str], cause: str) -> Verdict:
    if found:
        how = STILL_THERE if expect == ABSENT else NOT_GENERATED
        notes = (f"{len(found)}: {', '.join(found[:4])}{' …' if len(found) > 4 else ''}",)
        return Verdict("selection", name, expect, FAIL, how, 0, notes, (), cause)
    how = NOT_GENERATED if expect == ABSENT else "present"
    return Verdict(
        "selection",
        name,
        expect,
        PASS,
        how,
        0,
        ("the build's effective selection is the selection, resolved",),
    )
