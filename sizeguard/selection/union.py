"""Merge selections, and list the ones that widened the result.

The union is PyTorch's: a flag is set if any file sets it, and no file can remove the needs of
another. So the order of the files does not matter, and merging a file twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sizeguard.base.dataclass import dataclass
from sizeguard.selection.provenance import Provenance, union_of_lists
from sizeguard.selection.selection import SelectedOperator, Selection

_Entry = TypeVar("_Entry")

# Kinds of needs in the order of the report, each with its text.
KINDS = {
    "include_all_operators": "switches operator selection off",
    "include_all_non_op_selectives": "switches the selection of dtypes, classes and features off",
    "operator": "adds operators",
    "is_root_operator": "makes roots of",
    "is_used_for_training": "marks as used for training",
    "include_all_overloads": "adds all overloads of",
    "dtype": "adds dtypes",
    "kernel key": "adds kernels",
    "custom class": "adds classes",
    "build feature": "adds features",
}
_SHOWN = 6  # names in a line


@dataclass(frozen=True, slots=True)
class Widening:
    """A need of some files that others do not have.

    kind: one of KINDS
    name: the operator, class or feature, or "tag dtype"
    by:   the files that have it
    """

    kind: str
    name: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """The union, and the needs that widened it."""

    selection: Selection
    widenings: tuple[Widening, ...]


def merge(sources: Sequence[tuple[str, Selection]]) -> Merged:
    """Merge named selections.

    Needs without a model are recorded under the file that has them.
    """
    union = Selection()
    for name, selection in sources:
        union = _union(union, credited(selection, name))
    return Merged(union, _widenings(sources))


def describe(merged: Merged) -> list[str]:
    """Write a line for each kind of widening and set of files, with the first names.

    One more line warns of an empty union.
    """
    names: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for widening in merged.widenings:
        names.setdefault((widening.kind, widening.by), []).append(widening.name)
    lines = []
    for (kind, by), group in names.items():
        listed = f": {_listed(group)}" if any(group) else " for all"
        lines.append(f"only {_listed(by)} {KINDS[kind]}{listed}")
    if merged.selection.is_empty():
        lines.append("warning: the merge is empty: it selects no operator")
    return lines


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join([*names[:_SHOWN], *more])


def credited(selection: Selection, source: str) -> Selection:
    """Record `source` for each need without a model."""
    operators = {
        name: entry if entry.debug_info else replace(entry, debug_info=frozenset({source}))
        for name, entry in selection.operators.items()
    }
    unnamed = unrecorded(selection)
    provenance = dict(selection.provenance)
    if unnamed != Provenance():
        provenance[source] = provenance.get(source, Provenance()).union(unnamed)
    return replace(selection, operators=operators, provenance=provenance)


def unrecorded(selection: Selection) -> Provenance:
    """Return the needs of a selection that are in no model's record."""
    named = Provenance()
    for asked in selection.provenance.values():
        named = named.union(asked)
    return Provenance(
        include_all_operators=selection.include_all_operators and not named.include_all_operators,
        include_all_non_op_selectives=selection.include_all_non_op_selectives
        and not named.include_all_non_op_selectives,
        kernel_metadata=_without(selection.kernel_metadata, named.kernel_metadata),
        et_kernel_metadata=_without(selection.et_kernel_metadata, named.et_kernel_metadata),
        custom_classes=selection.custom_classes - named.custom_classes,
        build_features=selection.build_features - named.build_features,
    )


def _without(
    table: Mapping[str, frozenset[str]], named: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    left = {key: words - named.get(key, frozenset()) for key, words in table.items()}
    return {key: words for key, words in left.items() if words}


def _union(left: Selection, right: Selection) -> Selection:
    return Selection(
        operators=_union_of_tables(left.operators, right.operators, _union_of_operators),
        include_all_operators=left.include_all_operators or right.include_all_operators,
        include_all_non_op_selectives=left.include_all_non_op_selectives
        or right.include_all_non_op_selectives,
        kernel_metadata=union_of_lists(left.kernel_metadata, right.kernel_metadata),
        et_kernel_metadata=union_of_lists(left.et_kernel_metadata, right.et_kernel_metadata),
        custom_classes=left.custom_classes | right.custom_classes,
        build_features=left.build_features | right.build_features,
        debug_info=left.debug_info | right.debug_info,
        provenance=_union_of_tables(left.provenance, right.provenance, Provenance.union),
    )


def _union_of_operators(left: SelectedOperator, right: SelectedOperator) -> SelectedOperator:
    return SelectedOperator(
        is_root_operator=left.is_root_operator or right.is_root_operator,
        is_used_for_training=left.is_used_for_training or right.is_used_for_training,
        include_all_overloads=left.include_all_overloads or right.include_all_overloads,
        debug_info=left.debug_info | right.debug_info,
    )


def _union_of_tables(
    left: Mapping[str, _Entry],
    right: Mapping[str, _Entry],
    join: Callable[[_Entry, _Entry], _Entry],
) -> dict[str, _Entry]:
    joined = dict(left)
    for name, entry in right.items():
        joined[name] = join(joined[name], entry) if name in joined else entry
    return joined


def _widenings(sources: Sequence[tuple[str, Selection]]) -> tuple[Widening, ...]:
    asking: dict[tuple[str, str], dict[str, None]] = {}
    holders: dict[str, dict[str, None]] = {}
    for source, selection in sources:
        for request in _requests(selection):
            asking.setdefault(request, {})[source] = None
        for name in selection.operators:
            holders.setdefault(name, {})[source] = None
    everyone = dict.fromkeys(source for source, _ in sources)
    order = list(KINDS)
    widenings = []
    for kind, name in sorted(asking, key=lambda request: (order.index(request[0]), request[1])):
        # A flag of an operator widens the entries without it. Files without the operator do not
        # count.
        others = (
            holders[name]
            if kind in ("is_root_operator", "is_used_for_training", "include_all_overloads")
            else everyone
        )
        if asking[kind, name].keys() != others.keys():
            widenings.append(Widening(kind, name, tuple(sorted(asking[kind, name]))))
    return tuple(widenings)


def _requests(selection: Selection) -> Iterable[tuple[str, str]]:
    """List all needs of a selection as pairs of kind and name."""
    if selection.include_all_operators:
        yield "include_all_operators", ""
    if selection.include_all_non_op_selectives:
        yield "include_all_non_op_selectives", ""
    for name, entry in selection.operators.items():
        yield "operator", name
        for flag in ("is_root_operator", "is_used_for_training", "include_all_overloads"):
            if getattr(entry, flag):
                yield flag, name
    for tag, dtypes in selection.kernel_metadata.items():
        yield from (("dtype", f"{tag} {dtype}") for dtype in dtypes)
    for name, keys in selection.et_kernel_metadata.items():
        yield from (("kernel key", f"{name} {key}") for key in keys)
    yield from (("custom class", name) for name in selection.custom_classes)
    yield from (("build feature", name) for name in selection.build_features)
