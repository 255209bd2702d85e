"""Find what a change's selection of an app keeps in addition to the base's selection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sizeguard.gate.policy.terms_result import PolicyChange
from sizeguard.selection.selection import OPERATOR_FLAGS, Selection

_SELECTED, _NOT = "selected", "not selected"


def selection_changes(
    app: str, old: Selection | None, new: Selection | None
) -> Iterator[PolicyChange]:
    """Yield one change for each thing that was selected or deselected.

    An unreadable selection counts as widened.
    """
    if old is None or new is None:
        if old is not new:
            words = ("cannot be read", "is read")
            yield _widened(f"{app} selection", words[old is not None], words[new is not None])
        return
    yield from _included(app, old, new)
    # Of what one side keeps whole, the flag says all: single names are no further change.
    if not (old.include_all_operators or new.include_all_operators):
        yield from _operators(app, old, new)
    if not (old.all_non_operators_included or new.all_non_operators_included):
        yield from _dtypes(app, old, new)
        yield from _names(app, "class", old.custom_classes, new.custom_classes)
        yield from _names(app, "feature", old.build_features, new.build_features)
    yield from _kernels(app, old, new)
    if (old.debug_info, old.provenance) != (new.debug_info, new.provenance):
        yield PolicyChange(
            "selection changed", f"{app} debug_info", _models(old), _models(new), False
        )


def _widened(name: str, old: str, new: str) -> PolicyChange:
    return PolicyChange("selection widened", name, old, new, True)


def _narrowed(name: str, old: str, new: str) -> PolicyChange:
    return PolicyChange("selection narrowed", name, old, new, False)


def _included(app: str, old: Selection, new: Selection) -> Iterator[PolicyChange]:
    for flag in ("include_all_operators", "include_all_non_op_selectives"):
        before, after = getattr(old, flag), getattr(new, flag)
        if before != after:
            make = _widened if after else _narrowed
            yield make(f"{app} {flag}", _flag(before), _flag(after))


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _operators(app: str, old: Selection, new: Selection) -> Iterator[PolicyChange]:
    for name in sorted({*old.operators, *new.operators}):
        label = f"{app} operator {name}"
        before, after = old.operators.get(name), new.operators.get(name)
        if before is None or after is None:
            kept = old.is_operator_selected(name), new.is_operator_selected(name)
            # The operator's own entry may keep more than the family entry that also keeps it.
            if kept == (True, True):
                texts = ("by its family", _SELECTED)
                yield _widened(label, *(texts if before is None else texts[::-1]))
            else:
                yield (
                    _widened(label, _NOT, _SELECTED)
                    if kept[1]
                    else _narrowed(label, _SELECTED, _NOT)
                )
            continue
        for flag in OPERATOR_FLAGS:
            was, is_ = getattr(before, flag), getattr(after, flag)
            if was != is_:
                yield (_widened if is_ else _narrowed)(f"{label} {flag}", _flag(was), _flag(is_))


def _dtypes(app: str, old: Selection, new: Selection) -> Iterator[PolicyChange]:
    for tag in sorted({*old.kernel_metadata, *new.kernel_metadata}):
        before = old.kernel_metadata.get(tag, frozenset())
        after = new.kernel_metadata.get(tag, frozenset())
        if before == after:
            continue
        yield (_widened if after - before else _narrowed)(
            f"{app} dtypes of {tag}", _listed(before), _listed(after)
        )


def _kernels(app: str, old: Selection, new: Selection) -> Iterator[PolicyChange]:
    is_told = old.include_all_operators != new.include_all_operators
    for name in sorted({*old.et_kernel_metadata, *new.et_kernel_metadata}):
        before, after = _keys(old, name), _keys(new, name)
        if before == after or (is_told and None in (before, after)):
            continue
        widens = before is not None and (after is None or bool(after - before))
        words = ("all" if keys is None else _listed(keys) for keys in (before, after))
        yield (_widened if widens else _narrowed)(f"{app} kernels of {name}", *words)


def _keys(selection: Selection, name: str) -> frozenset[str] | None:
    """Return the kernel keys of an operator; None for all that the library has."""
    keys = selection.et_kernel_metadata.get(name)
    return keys if keys is not None or selection.include_all_operators else frozenset()


def _names(app: str, what: str, old: frozenset[str], new: frozenset[str]) -> Iterator[PolicyChange]:
    for name in sorted(new - old):
        yield _widened(f"{app} {what} {name}", _NOT, _SELECTED)
    for name in sorted(old - new):
        yield _narrowed(f"{app} {what} {name}", _SELECTED, _NOT)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _models(selection: Selection) -> str:
    count = len(selection.provenance)
    return f"{count} {'model' if count == 1 else 'models'}, {len(selection.debug_info)} other texts"
