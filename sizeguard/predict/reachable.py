"""Static selections: all operators and dtypes that models can reach.

Operators come from the section graph, dtypes from the models as far as they tell them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.operators.dtypes import DTYPES, INTEGRAL
from sizeguard.predict.full_build import FullBuild
from sizeguard.predict.reach_result import StaticSelection
from sizeguard.selection.provenance import Provenance
from sizeguard.selection.selection import SelectedOperator, Selection
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
        selection, all_dtypes = _of_model(full, info, features)
        selections.append((info.model, selection))
        whole |= all_dtypes
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
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise InputError(
            f"{info.model}: the full build has no operator {', '.join(missing[:5])}{more}"
        )
    classes = sorted(info.classes - full.classes)
    if classes:
        raise InconclusiveError(
            f"{info.model}: the full build has no custom class {', '.join(classes)}"
        )


def _of_model(
    full: FullBuild, info: OperatorInfo, features: frozenset[str]
) -> tuple[Selection, frozenset[str]]:
    """Return the selection of one model, and its tags that keep every dtype."""
    reached = reachable_operators(full, info)
    called = {
        name
        for owner in (*reached, *info.classes)
        for name in full.dependencies.calls.get(owner, ())
    } | full.dependencies.at_load
    entries = {
        name: SelectedOperator(
            name in info.operators,
            is_used_for_training=False,
            include_all_overloads=False,
            debug_info=frozenset({info.model}),
        )
        for name in reached
    }
    tags: dict[str, frozenset[str]] = {}
    whole: set[str] = set()
    for owner in (*reached, *info.classes):
        # An operator that another one calls may meet any dtype, since callers convert.
        known = frozenset() if owner in called else _met(info.operators.get(owner, frozenset()))
        for tag in full.tags[owner]:
            tags[tag] = tags.get(tag, frozenset()) | (known or frozenset(DTYPES))
            if not known:
                whole.add(tag)
    asked = Provenance(kernel_metadata=tags, custom_classes=info.classes, build_features=features)
    selection = Selection(
        operators=entries,
        kernel_metadata=tags,
        custom_classes=info.classes,
        build_features=features,
        provenance={info.model: asked},
    )
    return selection, frozenset(whole)


def _met(dtypes: Collection[str]) -> frozenset[str]:
    """Return the dtypes that a kernel's switches can meet.

    dtypes: those of the tensors that the kernel takes and returns
    """
    found = set(dtypes)
    if found & INTEGRAL:
        found |= {"Long", "Float"}  # sums of integers; integers combined with a float number
    if found & {"Half", "BFloat16"}:
        found.add("Float")  # the type that they are computed in
    if {"Byte", "Char"} <= found:
        found.add("Short")
    return frozenset(found)
