"""Make static selections: all operators and dtypes that models can reach.

Operators come from the section graph, dtypes from the models that state them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sizeguard.base.errors import InconclusiveError, InputError, listed
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.predict.full_build import FullBuild
from sizeguard.predict.reach_result import StaticSelection
from sizeguard.selection.reachable_needs import needs_of_model
from sizeguard.selection.union import merge


def static_selection(
    full: FullBuild, models: Sequence[OperatorInfo], features: frozenset[str]
) -> StaticSelection:
    """Select the models' operators and all that these can call, each credited to its models.

    All of `features` are selected.
    """
    selections = []
    whole: set[str] = set()
    for info in models:
        needs = needs_of_model(full.op_deps, info, features, reachable_operators(full, info))
        selections.append((info.model, needs.selection))
        whole |= needs.whole_tags
    merged = merge(selections).selection
    reached = {*merged.operators, *merged.custom_classes, ""}
    unknown = [
        (owner, where)
        for owner, places in sorted(full.dependencies.unknown.items())
        if owner in reached
        for where in places
    ]
    called = {
        name for owner in reached for name in full.dependencies.calls.get(owner, ())
    } | full.dependencies.at_load
    return StaticSelection(
        merged, tuple(sorted(whole)), tuple(unknown), tuple(sorted(called - full.operators))
    )


def reachable_operators(full: FullBuild, info: OperatorInfo) -> dict[str, str]:
    """Map each operator that a model can reach to the operator that calls it.

    The caller is "" for operators that the model names and for those called at load.
    """
    check_roots(full, info)
    found = full.dependencies.callers(
        [*info.operators, *(name for name in info.classes if name in full.classes)]
    )
    return {name: caller for name, caller in found.items() if name in full.operators}


def check_roots(full: FullBuild, info: OperatorInfo) -> None:
    """Check that the full build has the model's operators and classes.

    Raises InputError for missing operators, InconclusiveError for missing custom classes.
    """
    missing = sorted(set(info.operators) - full.operators)
    if missing:
        raise InputError(f"{info.model}: the full build has no operator {listed(missing, 5)}")
    classes = sorted(info.classes - full.classes)
    if classes:
        raise InconclusiveError(
            f"{info.model}: the full build has no custom class {', '.join(classes)}"
        )
