"""Names that a selection can have, and the check for unknown names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field

from sizeguard.base.dataclass import dataclass
from sizeguard.base.nearest import nearest_names
from sizeguard.operators.dtypes import CODES
from sizeguard.operators.name import family_of
from sizeguard.selection.foreign.pytorch_names import PytorchNames
from sizeguard.selection.op_deps import OpDeps
from sizeguard.selection.selection import Selection

_NEAR = 2  # names in a message
_SHOWN = 4  # overloads in a message


@dataclass(frozen=True, slots=True)
class Selectable:
    """The names that can be selected; None if unknown.

    operators: with overloads
    dtypes: kernel tag → dtypes that its switches have a case for; empty if unknown
    calls: the calls between operators, and the tags that each runs
    pytorch: PyTorch's names for the same operators and tags
    """

    operators: Collection[str]
    dtypes: Mapping[str, Collection[str]] | None = None
    classes: Collection[str] | None = None
    features: Collection[str] | None = None
    calls: OpDeps | None = None
    pytorch: PytorchNames = field(default_factory=PytorchNames)


@dataclass(frozen=True, slots=True)
class UnknownName:
    """An unknown name in a selection.

    key: a key of the selection: operators, kernel_metadata, custom_classes or build_features
    name: the entry; for a dtype, its tag
    what: the text without advice: unknown operator aten::ad.Tensor
    near: the nearest names
    """

    check: str
    key: str
    name: str
    what: str
    near: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Write the text with advice."""
        return f"{self.what}; nearest: {', '.join(self.near)}" if self.near else self.what


def unknown_names(selection: Selection, known: Selectable) -> Iterator[UnknownName]:
    """List the names of a selection that do not exist, in the order of its keys."""
    yield from _operators(selection, known.operators)
    if known.dtypes is not None:
        for tag in sorted(selection.kernel_metadata.keys() - known.dtypes.keys()):
            what = f"kernel tag {tag} matches no dtype switch"
            near = nearest_names(tag, known.dtypes, _NEAR)
            yield UnknownName("unknown-tag", "kernel_metadata", tag, what, near)
    for tag in sorted(selection.kernel_metadata):
        for dtype in sorted(selection.kernel_metadata[tag] - CODES.keys()):
            what = f"kernel tag {tag}: unknown dtype {dtype}"
            near = nearest_names(dtype, CODES)
            yield UnknownName("unknown-dtype", "kernel_metadata", tag, what, near)
    lists = (
        ("class", "custom_classes", selection.custom_classes, known.classes),
        ("build feature", "build_features", selection.build_features, known.features),
    )
    for kind, key, named, there in lists:
        for name in sorted(named - frozenset(there) if there is not None else ()):
            check = f"unknown-{kind.rpartition(' ')[2]}"
            near = nearest_names(name, there or (), _NEAR)
            yield UnknownName(check, key, name, f"unknown {kind} {name}", near)


def _operators(selection: Selection, operators: Collection[str]) -> Iterator[UnknownName]:
    families: dict[str, list[str]] = {}
    for name in operators:
        families.setdefault(family_of(name), []).append(name)
    for name in sorted(selection.operators):
        entry = selection.operators[name]
        if name in operators or (entry.include_all_overloads and name in families):
            continue
        if "::" not in name:
            like = nearest_names(name.replace(".", "::", 1), operators) if "." in name else ()
            what = (
                f"{name or 'an empty name'} has no namespace, so it matches nothing; write"
                f" {like[0] if like else f'aten::{name}' if name else 'aten::add'}"
            )
            yield UnknownName("no-namespace", "operators", name, what)
            continue
        overloads = tuple(sorted(families.get(name, ()))[:_SHOWN])
        near = overloads or nearest_names(name, operators, _NEAR)
        yield UnknownName("unknown-operator", "operators", name, f"unknown operator {name}", near)


def unreachable_tags(selection: Selection, known: Selectable) -> tuple[str, ...]:
    """List the tags that no operator or class of the selection can reach.

    The list is empty if a selected operator has unknown calls.
    """
    if known.calls is None or selection.all_non_operators_included:
        return ()
    calls = known.calls
    chosen = {*selection.selected_operators(known.operators), *selection.custom_classes}
    reached = {*calls.callers(chosen)}
    if not chosen or not reached <= calls.calls.keys():
        return ()
    run = frozenset().union(*(calls.tags.get(name, frozenset()) for name in reached))
    return tuple(tag for tag in sorted(selection.kernel_metadata) if tag not in run)


def missing_cases(selection: Selection, known: Selectable) -> Iterator[tuple[str, tuple[str, ...]]]:
    """List dtypes that switches of the tag have no case for, by tag.

    Tags that keep all dtypes are left out. Dtypes in a model's record are left out, too, because
    tools record the dtypes of a model's tensors even if the switches lack them.
    """
    recorded = [
        asked.kernel_metadata
        for model, asked in selection.provenance.items()
        if not model.endswith((".yaml", ".yml"))
    ]
    for tag, dtypes in sorted(selection.kernel_metadata.items()):
        cases = frozenset((known.dtypes or {}).get(tag, ()))
        said = frozenset().union(*(asked.get(tag, frozenset()) for asked in recorded))
        if cases and not dtypes >= CODES.keys():
            lacking = (dtypes & CODES.keys()) - cases - said
            if lacking:
                yield tag, tuple(sorted(lacking))
