"""Turns a selection and a build's evidence into the verification of all that it keeps and leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sizeguard.codegen.headers import DTYPES
from sizeguard.selection.selection import Selection
from sizeguard.verify.build_features import judge_features
from sizeguard.verify.canary import must_fail
from sizeguard.verify.dtypes import Branches, judge_dtypes, judge_handlers
from sizeguard.verify.evidence import Evidence
from sizeguard.verify.judge import judge_code
from sizeguard.verify.noreturn import judge_returns
from sizeguard.verify.operators import Kernels, Registrations, judge_classes, judge_operators, judge_registered
from sizeguard.verify.result import ABSENT, FAIL, NOT_GENERATED, PASS, PRESENT, STILL_THERE, Verdict
from sizeguard.verify.startup import judge_exports, judge_initializers, judge_ways
from sizeguard.verify.universe import Universe

HANDLER = "dtype_not_selected"


def judge_selection(evidence: Evidence, universe: Universe, selection: Selection) -> tuple[list[Verdict], list[str]]:
    """Verdicts on everything that `selection`, resolved, keeps or leaves out, and what is wrong with the canaries."""
    tables = Registrations(evidence, universe)
    branches = Branches(evidence, universe, selection)
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


def _canaries(evidence: Evidence, universe: Universe, selection: Selection, tables: Registrations) -> list[str]:
    """A selected operator that is claimed to be gone, with its kernel; an operator that does not exist, claimed to be there."""
    notes = must_fail(judge_registered(tables, "operator", "canary::nobody_registered_this", PRESENT))
    kept = [name for name in selection.selected_operators(universe.operators) if tables.entries("operator", name)]
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
            notes.append("of no selected operator the kernel was found in the image, and their entries are there")
    return notes


def judge_effective(universe: Universe, asked: Selection, built: Selection) -> Iterator[Verdict]:
    """A build must keep what its selection says: an option that was spelled wrong builds something else and says nothing."""
    names = universe.operators
    wider = [f"operator {name}" for name in names if built.is_operator_selected(name) and not asked.is_operator_selected(name)]
    lost = [f"operator {name}" for name in names if asked.is_operator_selected(name) and not built.is_operator_selected(name)]
    for tag in universe.tags:
        for dtype in DTYPES:
            kept, wanted = built.is_kernel_dtype_selected(tag, dtype), asked.is_kernel_dtype_selected(tag, dtype)
            (wider if kept else lost).extend([f"dtype {tag}:{dtype}"] if kept != wanted else [])
    for what, known, kept_of in (("class", universe.classes, "is_class_selected"), ("feature", universe.features, "is_feature_selected")):
        for name in known:
            kept, wanted = getattr(built, kept_of)(name), getattr(asked, kept_of)(name)
            (wider if kept else lost).extend([f"{what} {name}"] if kept != wanted else [])
    yield _difference("anything wider than the selection", ABSENT, wider, "the build was told to keep more than the selection says")
    yield _difference("everything of the selection", PRESENT, lost, "the build was told to keep less than the selection says")


def _difference(name: str, expect: str, found: Sequence[str], cause: str) -> Verdict:
    if found:
        how = STILL_THERE if expect == ABSENT else NOT_GENERATED
        notes = (f"{len(found)}: {', '.join(found[:4])}{' …' if len(found) > 4 else ''}",)
        return Verdict("selection", name, expect, FAIL, how, 0, notes, (), cause)
    how = NOT_GENERATED if expect == ABSENT else "present"
    return Verdict("selection", name, expect, PASS, how, 0, ("the build's effective selection is the selection, resolved",))
