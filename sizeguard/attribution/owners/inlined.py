"""Find dtype branches inside functions that serve all dtypes, by debug information.

There are three signs of a branch: run_case<ScalarType::Float> inlined into a switch; a lambda that
uses the type that its case declares, inside or outside the switch's function; an inlined instance
of a kernel's template.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int, Texts
from sizeguard.formats.dwarf import inline_frames
from sizeguard.names.labels import label_names
from sizeguard.names.rules import Rules
from sizeguard.operators.dtypes import CODE_OF_NAME, NAME_OF_DIGITS, dtype_of_type


@dataclass(frozen=True, slots=True)
class InlinedCases:
    """Code [start, end), by address, that was compiled for one dtype's branch.

    dtype: dtype names, one for each range
    """

    start: Int
    end: Int
    dtype: tuple[str, ...]


def inlined_branches(path: Path, debug: Path | None, preset: Rules, arch: str = "") -> InlinedCases:
    """Find the branches in the debug information of an image, its debug file or its dSYM.

    Frames that are not cases do not count: std::max<long> in a neutral function is not a branch.
    """
    frames = inline_frames(path, debug, arch, preset.case_types)
    dtypes = case_dtypes(frames.names, preset)
    branches = _branch_dtypes(frames.branches)
    instances = (
        _instance_dtypes(frames.names, preset) if preset.case_types else [""] * len(frames.names)
    )
    start: list[int] = []
    end: list[int] = []
    dtype: list[str] = []
    has_any = np.array(
        [bool(a or b or c) for a, b, c in zip(dtypes, branches, instances, strict=True)], bool
    )
    # Few ranges have a frame with a dtype.
    rows = np.flatnonzero(np.logical_or.reduceat(has_any[frames.frame], frames.first[:-1]))
    columns = (frames.start, frames.end, frames.first[:-1], frames.first[1:])
    for low, high, first, last in zip(*(c[rows].tolist() for c in columns), strict=True):
        over = frames.frame[first:last].tolist()
        # The innermost case; the last frame is the function, whose symbol already names it.
        found = next((dtypes[i] for i in over[:-1] if dtypes[i]), "") or _joined(
            [d for i in reversed(over) for d in branches[i]]
        )
        found = found or next((instances[i] for i in reversed(over[:-1]) if instances[i]), "")
        if found and dtype and dtype[-1] == found and end[-1] == low:
            end[-1] = high
        elif found:
            start.append(low)
            end.append(high)
            dtype.append(found)
    return InlinedCases(np.array(start, np.int64), np.array(end, np.int64), tuple(dtype))


def case_dtypes(names: Texts, preset: Rules) -> list[str]:
    """Return the dtype of each name if it is a case; empty if not.

    The dtype is in the mangled name, or in the source's spelling, which depends on the compiler.
    """
    if not preset.cases:
        return [""] * len(names)
    label = label_names(names, preset).dtype
    words = [f"{len(word)}{word}".encode() for word in preset.cases]
    source = re.compile(rf"\b(?:{'|'.join(map(re.escape, preset.cases))})<(.*)", re.DOTALL)
    found = []
    for i in range(len(names)):
        raw = names.raw(i)
        if raw.startswith(b"_Z"):
            found.append(label.texts[label.ids[i]] if any(word in raw for word in words) else "")
        else:
            match = source.search(names[i])
            found.append(_dtype_of_source(match[1]) if match else "")
    return found


def _dtype_of_source(arguments: str) -> str:
    """Return the dtype of template arguments: Float for sg::ScalarType::Float or (ScalarType)6."""
    value = re.match(r"\([\w:]*ScalarType\)\s*(\d+)", arguments)
    if value:
        return NAME_OF_DIGITS.get(value[1], "")
    name = re.match(r"[\w:]*ScalarType::(\w+)", arguments)
    return name[1] if name and name[1] in CODE_OF_NAME else ""


def _branch_dtypes(branches: Sequence[tuple[bytes, ...]]) -> list[list[str]]:
    """Return the dtypes of the branches around each function.

    The type of a branch looks like ScalarTypeToCppType<(ScalarType)6>, which is Float.
    """
    found = {
        name: _dtype_of_source(name.partition(b"<")[2].decode("utf-8", "replace"))
        for of in branches
        for name in of
    }
    return [[found[name] for name in of if found[name]] for of in branches]


def _instance_dtypes(names: Texts, preset: Rules) -> list[str]:
    """Return the dtype of each instance of a kernel's template, read as a function's name.

    For example, cdist<float> gives Float. A case that only calls one function never uses the local
    name of its type, so compilers omit the name.
    """
    labels = label_names(names, preset)
    found = []
    for i in range(len(names)):
        if names.raw(i).startswith(b"_Z"):
            found.append(
                labels.dtype.texts[labels.dtype.ids[i]]
                if labels.kernel.ids[i] and labels.operator.ids[i]
                else ""
            )
        else:
            # gcc gives functions of an unnamed namespace no other name.
            match = re.match(r"(\w+)<([^<>,]+)", names[i])
            dtype = dtype_of_type(match[2]) if match else ""
            found.append(
                dtype
                if match and preset.names.find(match[1]) and match[1] not in preset.shared
                else ""
            )
    return found


def _joined(dtypes: list[str]) -> str:
    """Join the dtypes of nested branches: the outermost first, then the others in order."""
    return (
        "+".join([dtypes[0], *sorted(set(dtypes) - {dtypes[0]}, key=CODE_OF_NAME.__getitem__)])
        if dtypes
        else ""
    )
