"""Translate a selection of PyTorch or ExecuTorch into the names of this runtime.

PyTorch's tracer writes PyTorch's kernel tags, and also the operators that are called only inside
PyTorch. ExecuTorch's lists have kernel keys, and overloads that write into an argument (`out=`). A
translated selection has this runtime's operators, everything that they can call, and the dtypes of
their kernels. If the file has no dtypes for an operator, it gets every dtype.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from sizeguard.base.dataclass import dataclass
from sizeguard.base.nearest import nearest_names
from sizeguard.operators.dtypes import DTYPES, NAME_OF_DIGITS, SCALAR_TYPES
from sizeguard.operators.name import family_of
from sizeguard.selection.finding import Level, LintFinding
from sizeguard.selection.foreign.foreign_names import is_foreign, own_tags
from sizeguard.selection.foreign.pytorch_names import PytorchNames
from sizeguard.selection.op_deps import OpDeps
from sizeguard.selection.reachable_needs import met_dtypes, with_callees
from sizeguard.selection.read import SelectionFile
from sizeguard.selection.selection import SelectedOperator, Selection

_Dtypes = dict[str, frozenset[str]]

_MISSPELT = 0.85  # least similarity of tags, so that resize_cpu is not mistaken for silu_cpu
_CHECKS = {
    "operators": "foreign-operator",
    "kernel_metadata": "foreign-tag",
    "custom_classes": "foreign-class",
}
# PyTorch's own namespaces; their operators in a trace may be calls inside PyTorch.
_NAMESPACES = ("aten", "prim", "prims", "quantized", "_quantized", "mkldnn", "xnnpack")


@dataclass(frozen=True, slots=True)
class Untranslated:
    """A name without an equivalent in this runtime, which is left out.

    key:     the top-level key of the selection file; one of _CHECKS
    name:    the name below it
    message: why it is left out
    """

    key: str
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class Translation:
    """A selection in this runtime's names.

    is_foreign: the file had names of PyTorch or ExecuTorch; otherwise it is unchanged
    left_out:   names without an equivalent
    added:      callee → an operator that calls it
    whole_tags: tags that keep every dtype, because the file has no dtypes for them
    """

    selection: Selection
    is_foreign: bool = False
    left_out: tuple[Untranslated, ...] = ()
    added: Mapping[str, str] | None = None
    whole_tags: frozenset[str] = frozenset()


def translated(
    selection: Selection, deps: OpDeps, names: PytorchNames, *, exact: bool = False
) -> Translation:
    """Translate a selection; one with this runtime's names stays unchanged.

    deps: calls of this runtime; if empty, nothing is translated
    exact: add no callees
    """
    if not deps.calls or not is_foreign(selection, deps, names):
        return Translation(selection)
    left_out: list[Untranslated] = []
    operators = _operators(selection, deps, names, left_out)
    tags, stated = _tags(selection, deps, names, left_out)
    classes = _classes(selection, deps, left_out)
    named = replace(
        selection,
        operators=operators,
        kernel_metadata=tags,
        et_kernel_metadata={},
        custom_classes=classes,
        build_features=selection.build_features | names.features,
    )
    reached = with_callees(named, OpDeps(dict.fromkeys(deps.calls, frozenset())) if exact else deps)
    whole: frozenset[str] = frozenset()
    if not selection.all_non_operators_included:
        keyed = _keyed(selection, names)
        _add_keys(tags, keyed, deps)
        known = _stated_operators(stated, names) | keyed.keys()
        chosen = {*reached.selection.selected_operators(deps.calls), *classes}
        whole = frozenset().union(*(deps.tags.get(name, frozenset()) for name in chosen - known))
        tags |= dict.fromkeys(whole, frozenset(DTYPES))
    return Translation(
        replace(reached.selection, kernel_metadata=tags),
        True,
        tuple(left_out),
        reached.added,
        whole,
    )


def translated_file(file: SelectionFile, deps: OpDeps | None, names: PytorchNames) -> SelectionFile:
    """Translate a file for lint. Each name that is left out becomes a warning at its line."""
    done = translated(file.selection, deps or OpDeps({}), names)
    warnings = (
        LintFinding(
            file.name,
            file.line(each.key, each.name),
            Level.WARNING,
            _CHECKS[each.key],
            each.message,
        )
        for each in done.left_out
    )
    return replace(file, selection=done.selection, findings=(*file.findings, *warnings))


def translation_notes(name: str, translation: Translation, *, dtypes: bool) -> list[str]:
    """Write a line for each name that was left out of a file or added to it.

    dtypes: whether dtypes are selected, so that kernel tags have an effect
    """
    inner = [each.name for each in translation.left_out if each.key == "operators"]
    notes = [
        f"warning: {name}: {each.message}"
        for each in translation.left_out
        if each.key != "operators" and (dtypes or each.key != "kernel_metadata")
    ]
    if inner:
        notes.append(
            f"warning: {name}: {len(inner)} operators that are called only inside PyTorch are "
            f"left out: {', '.join(inner)}"
        )
    if translation.added:
        added = ", ".join(translation.added)
        notes.append(f"{name}: {len(translation.added)} callees are kept: {added}")
    return [*notes, *(whole_tags_notes(name, translation.whole_tags) if dtypes else [])]


def whole_tags_notes(name: str, tags: Collection[str]) -> list[str]:
    """List the tags that keep every dtype, because a file or model does not state theirs."""
    if not tags:
        return []
    return [f"{name}: does not state the dtypes of {', '.join(sorted(tags))}; all are kept"]


def _operators(
    selection: Selection, deps: OpDeps, names: PytorchNames, left_out: list[Untranslated]
) -> dict[str, SelectedOperator]:
    """Rename operators; append to `left_out` those that are called only inside PyTorch."""
    families = {family_of(name) for name in deps.calls}
    operators: dict[str, SelectedOperator] = {}
    for name, entry in selection.operators.items():
        own = names.functional(name)
        exists = own in deps.calls or (entry.include_all_overloads and own in families)
        inner = not entry.is_root_operator and own.partition("::")[0] in _NAMESPACES
        if not exists and inner:
            message = f"{name} is called only inside PyTorch; this runtime does not have it"
            left_out.append(Untranslated("operators", name, message))
            continue
        before = operators.get(own)
        operators[own] = entry if before is None else _joined(before, entry)
    return operators


def _joined(one: SelectedOperator, other: SelectedOperator) -> SelectedOperator:
    """Merge the entries of two names that are one operator here."""
    return SelectedOperator(
        one.is_root_operator or other.is_root_operator,
        one.is_used_for_training or other.is_used_for_training,
        one.include_all_overloads or other.include_all_overloads,
        one.debug_info | other.debug_info,
    )


def _tags(
    selection: Selection, deps: OpDeps, names: PytorchNames, left_out: list[Untranslated]
) -> tuple[_Dtypes, frozenset[str]]:
    """Translate kernel_metadata; append to `left_out` what has no equivalent.

    Returns dtypes by this runtime's tags, and the PyTorch tags that were translated.
    """
    own = own_tags(deps)
    tags: _Dtypes = {}
    stated = set()
    for tag, listed in selection.kernel_metadata.items():
        dtypes = listed - (frozenset(SCALAR_TYPES) - frozenset(DTYPES))
        for dtype in sorted(listed - dtypes):
            message = f"kernel tag {tag}: kernels of this runtime do not compute {dtype}"
            left_out.append(Untranslated("kernel_metadata", tag, message))
        if tag in own or tag not in names.tags:
            if tag not in own:
                left_out.append(_foreign_tag(tag, listed, names))
                continue
            tags[tag] = tags.get(tag, frozenset()) | dtypes
        if tag in names.tags:
            stated.add(tag)
            for each in names.tags[tag]:
                tags[each] = tags.get(each, frozenset()) | met_dtypes(dtypes)
    return tags, frozenset(stated)


def _foreign_tag(tag: str, dtypes: Iterable[str], names: PytorchNames) -> Untranslated:
    near = difflib.get_close_matches(tag, names.tags, n=1, cutoff=_MISSPELT)
    advice = f"; the nearest tag of PyTorch is {near[0]}" if near else ""
    message = (
        f"kernel tag {tag} belongs to no operator of this runtime; it would have kept "
        f"{', '.join(sorted(dtypes)) or 'no dtype'}{advice}"
    )
    return Untranslated("kernel_metadata", tag, message)


def _classes(selection: Selection, deps: OpDeps, left_out: list[Untranslated]) -> frozenset[str]:
    """Return this runtime's custom classes, and names that may be misspellings of one.

    Appends the others, which are classes of PyTorch, to `left_out`.
    """
    own = [name for name in deps.calls if "::" not in name]
    kept = set()
    for name in sorted(selection.custom_classes):
        if name in own or nearest_names(name, own):
            kept.add(name)
        else:
            message = f"class {name} belongs to no operator of this runtime"
            left_out.append(Untranslated("custom_classes", name, message))
    return frozenset(kept)


def _stated_operators(stated: Collection[str], names: PytorchNames) -> frozenset[str]:
    """List the operators with dtypes in a trace."""
    return frozenset(name for name, tags in names.kernels.items() if tags & frozenset(stated))


def _keyed(selection: Selection, names: PytorchNames) -> _Dtypes:
    """Map operators to the dtypes of their kernel keys.

    An operator with the default key, which has no "/", is left out: its dtypes are not stated.
    Several names may be one operator here: add.out and add.Scalar_out are add.Tensor. One of them
    without keys has no dtypes, either, unless the file has dtypes for kernel tags.
    """
    keys_of: dict[str, list[str]] = {}
    unkeyed = [] if selection.kernel_metadata else selection.operators
    for name in {*selection.et_kernel_metadata, *unkeyed}:
        keys = selection.et_kernel_metadata.get(name) or [""]
        keys_of.setdefault(names.functional(name), []).extend(keys)
    return {
        name: _dtypes_of_keys(keys)
        for name, keys in keys_of.items()
        if all("/" in key for key in keys)
    }


def _dtypes_of_keys(keys: Iterable[str]) -> frozenset[str]:
    """Parse keys such as v1/6;0,1|6;0,1: a dtype and a dimension order for each tensor."""
    codes = {part.partition(";")[0] for key in keys for part in key.split("/")[1].split("|")}
    found = {NAME_OF_DIGITS.get(code, code) for code in codes}
    return frozenset(found & frozenset(DTYPES))


def _add_keys(tags: _Dtypes, keyed: Mapping[str, frozenset[str]], deps: OpDeps) -> None:
    """Add the dtypes of kernel keys to the tags of the operators' kernels."""
    for name, dtypes in keyed.items():
        for tag in deps.tags.get(name, ()):
            tags[tag] = tags.get(tag, frozenset()) | met_dtypes(dtypes)
