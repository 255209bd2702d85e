"""Find parts that an app's models need but its selection lacks.

The static closure has the names in the models and the calls in kernels. A trace has the code that
the models' inputs use. Models are traced again only if the record of the last trace (review_record)
is out of date. It is if a model, the selection, or the calls of a kernel have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from sizeguard.base.errors import BuildError, InconclusiveError, InputError, listed
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.cache.traces import Model, Tracer
from sizeguard.gate.gate_result import SelectionFinding
from sizeguard.gate.selection.model_needs import Needed
from sizeguard.gate.selection.review_record import (
    AT_LOAD,
    kernel_of,
    model_state,
    short_hash,
    shown_path,
)
from sizeguard.gate.selection.selection_case import (
    CLASS,
    CLOSURE,
    COVERED,
    DTYPE,
    EXPORT,
    FEATURE,
    LINT,
    OPERATOR,
    SURPLUS,
    TRACE,
    SelectionCase,
)
from sizeguard.predict.reachable import reachable_operators
from sizeguard.selection.selection import Selection

FindSurplus: TypeAlias = Callable[[SelectionCase, Needed], Iterable[SelectionFinding]]


def check_selection(
    subject: SelectionCase,
    tracer: Tracer,
    lint: Iterable[SelectionFinding] = (),
    surplus: FindSurplus | None = None,
) -> tuple[SelectionFinding, ...]:
    """List the findings, and the models that were traced again.

    If nothing is wrong, one finding lists what is covered.

    surplus: finds parts that the models do not need; None to skip that
    """
    found = [*lint, *_static(subject), *_calls(subject), *_unknown(subject)]
    broken = any(finding.kind == CLOSURE and finding.verdict == FAIL for finding in found)
    traces: dict[str, Selection] = {}
    found += _traced(subject, tracer, traces, with_kernels=not broken)
    if surplus is not None:
        # Report a misspelt name once
        wrong = {each.place for each in found if each.kind == LINT and each.verdict == FAIL}
        more = _surplus(subject, traces, surplus)
        found += (each for each in more if each.place not in wrong)
    # A trace finds the names in the model again.
    found = list({(each.kind, each.name, each.verdict): each for each in reversed(found)}.values())[
        ::-1
    ]
    if all(finding.verdict == PASS for finding in found):
        found.append(_covered(subject))
    return tuple(found)


def _static(subject: SelectionCase) -> Iterator[SelectionFinding]:
    """Find names in the models that the selection lacks: without them the models do not load."""
    selection = subject.selection
    for name, by in _by_name(subject.models, lambda model: model.info.operators).items():
        if not selection.is_operator_selected(name):
            yield subject.finding(
                OPERATOR, name, FAIL, f"{listed(by)} names {name}, which {subject.name} lacks"
            )
        elif name in selection.operators and not selection.is_root_operator(name):
            message = (
                f"{listed(by)} names {name}, which {subject.name} marks as called only by "
                f"others (is_root_operator: false)"
            )
            found = subject.finding(LINT, f"not-root {name}", PASS, message)
            yield replace(found, place=subject.place("operators", name))
    for name, by in _by_name(subject.models, lambda model: model.info.classes).items():
        if not selection.is_class_selected(name):
            yield subject.finding(
                CLASS, name, FAIL, f"{listed(by)} names class {name}, which {subject.name} lacks"
            )


def _calls(subject: SelectionCase) -> Iterator[SelectionFinding]:
    """Find kernels of the selection that call an operator which it lacks.

    Calls that the record lists pass.
    """
    full, selection, record = subject.full, subject.selection, subject.record
    for name in subject.kernels:
        lacking = sorted(
            callee
            for callee in kernel_of(full, name).calls
            if not selection.is_operator_selected(callee)
        )
        if record is not None and name in record.kernels:
            for callee in (callee for callee in lacking if callee in subject.gained.get(name, ())):
                where = "" if callee in full.operators else ", which no library registers"
                yield subject.finding(
                    CLOSURE,
                    name,
                    FAIL,
                    f"{_who(name)} now calls {callee}{where}, not in {subject.name}",
                )
        elif lacking:
            when = (
                "no record lists this call when the models were traced"
                if record is None
                else "it was selected after the models were traced"
            )
            message = f"{_who(name)} can call {listed(lacking)}, not in {subject.name}; {when}"
            yield subject.finding(CLOSURE, name, INCONCLUSIVE, message)


def _unknown(subject: SelectionCase) -> Iterator[SelectionFinding]:
    """Find calls of operators whose names are not constant."""
    for owner, places in sorted(subject.full.dependencies.unknown.items()):
        if (owner or AT_LOAD) in subject.kernels:
            for where in places:
                message = (
                    f"{_who(owner or AT_LOAD)} calls an operator whose name is not constant, in"
                    f" {where.function} ({where.object})"
                )
                yield subject.finding(
                    CLOSURE,
                    owner or AT_LOAD,
                    INCONCLUSIVE,
                    message,
                    "name the operator where it is called: ops::NAME::call",
                )


def _traced(
    subject: SelectionCase, tracer: Tracer, traces: dict[str, Selection], *, with_kernels: bool
) -> Iterator[SelectionFinding]:
    """Trace the models with an outdated record, and compare what they used.

    traces: gets each new trace by the model's name
    """
    # A selection that keeps all operators lacks nothing
    for model in subject.models if not subject.selection.include_all_operators else ():
        kind, reason = _why_again(subject, model, with_kernels=with_kernels)
        if not reason:
            continue
        try:
            trace = traces[model.name] = tracer.trace(model)
        except (BuildError, InputError) as error:
            yield subject.finding(
                kind,
                model.name,
                FAIL,
                f"{reason}, and it cannot be traced again: {error}",
                "fix it, then run the gate again",
            )
            continue
        lacking = list(_lacking(subject, model, trace))
        yield from lacking
        needs = (
            f"needs {len(lacking)} operators or dtypes that {subject.name} lacks"
            if lacking
            else f"needs nothing that {subject.name} lacks"
        )
        again = f"{reason}; traced again, it {needs}"
        yield subject.finding(
            kind,
            model.name,
            FAIL if lacking else PASS,
            again,
            f"keep that: {subject.advice}" if not lacking else "",
        )


def _why_again(subject: SelectionCase, model: Model, *, with_kernels: bool) -> tuple[str, str]:
    """Return the kind of finding, and why the record is out of date for this model.

    Both are empty if it is up to date.
    """
    record = subject.record
    if record is None:
        return TRACE, f"there is no trace record of {model.name}"
    known, now = (
        record.models.get(shown_path(subject.root, model.path)),
        model_state(model.path),
    )
    if known is None:
        return TRACE, f"{model.name} was not traced for {subject.name}"
    if known.model != now.model:
        return EXPORT, f"{model.name} was exported again since it was traced"
    if known.inputs != now.inputs:
        return EXPORT, f"the inputs of {model.name} have changed since it was traced"
    if record.selection != short_hash(subject.app.selection):
        return TRACE, f"{subject.name} has changed since {model.name} was traced"
    if with_kernels:
        changed = {*subject.gained, *subject.gained_switches}
        reached = (
            {AT_LOAD, *reachable_operators(subject.full, model.info), *model.info.classes} & changed
            if changed
            else set()
        )
        if reached:
            return (
                TRACE,
                (
                    f"the trace of {model.name} is older than the code: {listed(sorted(reached))}"
                    " calls more, or runs more dtype switches"
                ),
            )
    return "", ""


def _lacking(subject: SelectionCase, model: Model, trace: Selection) -> Iterator[SelectionFinding]:
    selection, name = subject.selection, model.name
    for operator in sorted(trace.operators):
        if not selection.is_operator_selected(operator):
            yield subject.finding(
                OPERATOR, operator, FAIL, f"{name} runs {operator}, which {subject.name} lacks"
            )
    for tag, dtypes in sorted(trace.kernel_metadata.items()):
        for dtype in sorted(dtypes):
            if not selection.is_kernel_dtype_selected(tag, dtype):
                yield subject.finding(
                    DTYPE,
                    f"{tag} {dtype}",
                    FAIL,
                    f"{name} runs {tag} with {dtype}, which {subject.name} lacks",
                )
    for cls in sorted(trace.custom_classes):
        if not selection.is_class_selected(cls):
            yield subject.finding(
                CLASS, cls, FAIL, f"{name} uses class {cls}, which {subject.name} lacks"
            )
    for feature in sorted(trace.build_features):
        if not selection.is_feature_selected(feature):
            yield subject.finding(
                FEATURE, feature, FAIL, f"{name} uses feature {feature}, which {subject.name} lacks"
            )


def _surplus(
    subject: SelectionCase, traces: Mapping[str, Selection], find: FindSurplus
) -> Iterator[SelectionFinding]:
    """Find parts that no model needs, if the full build has all names in the models."""
    try:
        yield from find(subject, subject.needed(traces))
    except (InputError, InconclusiveError) as error:
        message = f"the models' needs are unknown: {error}"
        yield subject.finding(SURPLUS, subject.app.name, INCONCLUSIVE, message)


def _covered(subject: SelectionCase) -> SelectionFinding:
    operators = set(subject.selection.selected_operators(subject.full.operators))
    reached = {
        name for model in subject.models for name in reachable_operators(subject.full, model.info)
    }
    rest = reached - operators
    more = f"; {len(rest)} more are reachable, but no input uses them" if rest else ""
    count = len(subject.models)
    text = (
        f"{count} model{'' if count == 1 else 's'} covered by {len(operators)} operators, 0"
        f" missing{more}"
    )
    return subject.finding(COVERED, subject.app.name, PASS, text)


def _by_name(
    models: Sequence[Model], names: Callable[[Model], Iterable[str]]
) -> dict[str, list[str]]:
    """Map each name to the models that have it."""
    found: dict[str, list[str]] = {}
    for model in models:
        for name in sorted(names(model)):
            found.setdefault(name, []).append(model.name)
    return dict(sorted(found.items()))


def _who(name: str) -> str:
    return "start-up code" if name == AT_LOAD else name
