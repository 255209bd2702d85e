"""Select everything that models can reach: the operators that they name, and their callees."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sizeguard.base.dataclass import dataclass
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.operators.dtypes import DTYPES, INTEGRAL
from sizeguard.operators.name import family_of
from sizeguard.selection.op_deps import OpDeps
from sizeguard.selection.provenance import Provenance
from sizeguard.selection.selection import SelectedOperator, Selection


@dataclass(frozen=True, slots=True)
class WithCallees:
    """A selection, extended by the operators that its own operators can call.

    added:   callee → an operator that calls it
    unknown: operators with unknown calls
    """

    selection: Selection
    added: dict[str, str]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelNeeds:
    """The needs of one model.

    selection:  the operators, tags and classes that it can reach
    whole_tags: tags that keep every dtype, because the model does not state theirs
    """

    selection: Selection
    whole_tags: frozenset[str]


def with_callees(selection: Selection, deps: OpDeps) -> WithCallees:
    """Add to a selection the operators that its own operators can call, for the same models."""
    roots = set(selection.custom_classes)
    for name, entry in selection.operators.items():
        roots.add(name)
        if entry.include_all_overloads:
            roots.update(known for known in deps.calls if family_of(known) == name)
    callers = deps.callers(roots)
    added = {name: caller for name, caller in callers.items() if name not in roots}
    entries = dict(selection.operators)
    for name, caller in added.items():
        credit = entries.get(caller) or entries.get(family_of(caller))
        entries[name] = SelectedOperator(
            is_root_operator=False,
            is_used_for_training=False,
            include_all_overloads=False,
            debug_info=credit.debug_info if credit else frozenset(),
        )
    unknown = [name for name in callers if name not in deps.calls or name in deps.unknown]
    return WithCallees(
        replace(selection, operators=entries),
        added,
        tuple(sorted(name for name in unknown if name not in selection.custom_classes)),
    )


def needs_of_model(
    deps: OpDeps, info: OperatorInfo, features: frozenset[str], reached: Collection[str]
) -> ModelNeeds:
    """Select everything that a model reaches, with the dtypes that it states.

    reached: the operators that it can reach; features: those to keep
    """
    called = {
        name for owner in (*reached, *info.classes) for name in deps.calls.get(owner, ())
    } | deps.at_load
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
        # An operator that another one calls may get any dtype, because callers convert.
        known = (
            frozenset() if owner in called else met_dtypes(info.operators.get(owner, frozenset()))
        )
        for tag in deps.tags.get(owner, ()):
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
    return ModelNeeds(selection, frozenset(whole))


def met_dtypes(dtypes: Collection[str]) -> frozenset[str]:
    """Return the dtypes that a kernel's switches can get.

    dtypes: those of the tensors that the kernel takes and returns
    """
    found = set(dtypes)
    if found & INTEGRAL:
        found |= {"Long", "Float"}  # sums of integers; integers combined with a float number
    if found & {"Half", "BFloat16"}:
        found.add("Float")  # the type of the computation
    if {"Byte", "Char"} <= found:
        found.add("Short")
    return frozenset(found)
