"""Explain an error line of a device: its names are deselected, selected or unknown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from sizeguard.base.nearest import nearest_names
from sizeguard.operators.dtypes import DTYPES
from sizeguard.selection.foreign.triage_result import DESELECTED, SELECTED, Named
from sizeguard.selection.selectable import Selectable
from sizeguard.selection.selection import Selection

# C++ names are not operators: std::bad_alloc, c10::Error, or at::native::add with several `::`.
_OPERATOR = re.compile(r"(?<![\w:])(?!(?:std|c10|at)::)[A-Za-z_]\w*::\w+(?:\.\w+)?(?!\w|::)")
# ExecuTorch's kernels leave out the namespace: "Unhandled dtype Double for add.out".
_SHORT_OPERATOR = re.compile(r"\bdtype '?\w+'? for (\w+\.\w+)")
_FEATURE = re.compile(r"\bfeatures? (\w+)")
_CLASS = re.compile(r"\bclass(?:es)? ([\w.]+)")
_NEAR = 3  # similar names in a message


def named_in(line: str, known: Selectable, selections: Mapping[str, Selection]) -> list[Named]:
    """List the names in a line, each once.

    selections: app → its selection, with the runtime's own names
    """
    operators = list(dict.fromkeys(_operators(line, known)))
    dtypes = [*_dtypes(line, operators, known, selections)]
    told = {each.name.rpartition(":")[0] for each in dtypes}  # by their dtype
    told |= {name for name in operators if name not in line and _family(name) in map(_family, told)}
    found = [_operator(name, known, selections) for name in operators if name not in told]
    found += dtypes
    for kind, pattern, names in (
        ("class", _CLASS, known.classes),
        ("feature", _FEATURE, known.features),
    ):
        for name in dict.fromkeys(pattern.findall(line)):
            if names is not None and (name in names or nearest_names(name, names)):
                found.append(_plain(kind, name, names, selections))
    return found


def _operators(line: str, known: Selectable) -> Iterator[str]:
    """List the operators of a line; a name without overload means each overload, as in PyTorch."""
    short = (f"aten::{name}" for name in _SHORT_OPERATOR.findall(line))
    for name in map(known.pytorch.functional, [*_OPERATOR.findall(line), *short]):
        overloads = [each for each in sorted(known.operators) if _family(each) == name]
        yield from [name] if name in known.operators else overloads or [name]


def _family(operator: str) -> str:
    return operator.partition(".")[0]


def _operator(name: str, known: Selectable, selections: Mapping[str, Selection]) -> Named:
    if name not in known.operators:
        return Named("operator", name, {}, nearest_names(name, known.operators, _NEAR))
    state = {
        app: SELECTED if selection.is_operator_selected(name) else DESELECTED
        for app, selection in selections.items()
    }
    return Named("operator", name, state)


def _dtypes(
    line: str, operators: Sequence[str], known: Selectable, selections: Mapping[str, Selection]
) -> Iterator[Named]:
    """List dtypes that a line names together with an operator with known kernel tags."""
    tags = known.calls.tags if known.calls is not None else {}
    for dtype in dict.fromkeys(re.findall(r"\b[A-Z]\w+\b", line)):
        if dtype not in DTYPES:
            continue
        for operator in operators:
            state = {
                app: SELECTED if all(_has(selection, tag, dtype) for tag in tags[operator])
                else DESELECTED
                for app, selection in selections.items()
                if tags.get(operator)
            }  # fmt: skip
            if state:
                yield Named("dtype", f"{operator}:{dtype}", state)


def _has(selection: Selection, tag: str, dtype: str) -> bool:
    return selection.is_kernel_dtype_selected(tag, dtype)


def _plain(
    kind: str, name: str, names: Collection[str], selections: Mapping[str, Selection]
) -> Named:
    if name not in names:
        return Named(kind, name, {}, nearest_names(name, names, _NEAR))
    state = {}
    for app, selection in selections.items():
        has = (
            selection.is_class_selected(name)
            if kind == "class"
            else selection.is_feature_selected(name)
        )
        state[app] = SELECTED if has else DESELECTED
    return Named(kind, name, state)
