"""Turns debug information into the dtype branches inside of functions that serve all dtypes.

Three things show a branch: run_case<ScalarType::Float> inlined into a switch; a lambda that uses the type which its case declares, in or
out of the switch's function; an inlined instance of a kernel's own template.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sizeguard.attribution.dtypes import CODES, DTYPES
from sizeguard.attribution.labels import label_names
from sizeguard.attribution.preset import Preset
from sizeguard.formats.dwarf import inline_frames
from sizeguard.formats.texts import Int, Texts

# As gcc and clang spell template arguments.
_C_TYPES = {
    **{"unsigned char": "Byte", "signed char": "Char", "short": "Short", "short int": "Short", "int": "Int", "long": "Long"},
    **{"long int": "Long", "long long": "Long", "long long int": "Long", "float": "Float", "double": "Double", "bool": "Bool"},
    **{"Half": "Half", "BFloat16": "BFloat16"},
}


@dataclass(frozen=True, slots=True)
class Branches:
    """Code [start, end), by address, that one dtype's branch was compiled to. dtype: for each its name."""

    start: Int
    end: Int
    dtype: tuple[str, ...]


def inlined_branches(path: Path, debug: Path | None, preset: Preset, arch: str = "") -> Branches:
    """By the debug information of an image, its debug file or its dSYM. Other frames do not count: std::max<long> in a neutral function is
    no branch."""
    frames = inline_frames(path, debug, arch, preset.case_types)
    dtypes = case_dtypes(frames.names, preset)
    branches = _branch_dtypes(frames.branches)
    instances = _instance_dtypes(frames.names, preset) if preset.case_types else [""] * len(frames.names)
    start: list[int] = []
    end: list[int] = []
    dtype: list[str] = []
    bounds = frames.first.tolist()
    frame = frames.frame.tolist()
    for row, (low, high) in enumerate(zip(frames.start.tolist(), frames.end.tolist(), strict=True)):
        over = frame[bounds[row] : bounds[row + 1]]
        # The innermost case; the function itself, which is last, is named by its symbol.
        found = next((dtypes[i] for i in over[:-1] if dtypes[i]), "") or _joined([d for i in reversed(over) for d in branches[i]])
        found = found or next((instances[i] for i in reversed(over[:-1]) if instances[i]), "")
        if found and dtype and dtype[-1] == found and end[-1] == low:
            end[-1] = high
        elif found:
            start.append(low)
            end.append(high)
            dtype.append(found)
    return Branches(np.array(start, np.int64), np.array(end, np.int64), tuple(dtype))


def case_dtypes(names: Texts, preset: Preset) -> list[str]:
    """Of each name the dtype that a case has: by its mangled name, or as the source has it, which differs from compiler to compiler."""
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
    """Float of (sg::ScalarType)6, float, … or sg::ScalarType::Float, …"""
    value = re.match(r"\([\w:]*ScalarType\)\s*(\d+)", arguments)
    if value and int(value[1]) < len(DTYPES):
        return DTYPES[int(value[1])]
    name = re.match(r"[\w:]*ScalarType::(\w+)", arguments)
    return name[1] if name and name[1] in DTYPES else ""


def _branch_dtypes(branches: Sequence[tuple[bytes, ...]]) -> list[list[str]]:
    """Of each function the dtypes of the branches that it stands in: Float of ScalarTypeToCppType<(ScalarType)6>."""
    found = {name: _dtype_of_source(name.partition(b"<")[2].decode("utf-8", "replace")) for of in branches for name in of}
    return [[found[name] for name in of if found[name]] for of in branches]


def _instance_dtypes(names: Texts, preset: Preset) -> list[str]:
    """Of instances of kernels' own templates the dtype that they would have as functions: Float of cdist<float>.

    A case that does nothing but call one never says its type's local name, and compilers leave the name out.
    """
    labels = label_names(names, preset)
    found = []
    for i in range(len(names)):
        if names.raw(i).startswith(b"_Z"):
            found.append(labels.dtype.texts[labels.dtype.ids[i]] if labels.kernel.ids[i] and labels.operator.ids[i] else "")
        else:
            # gcc has no other name for functions of a nameless namespace.
            match = re.match(r"(\w+)<([^<>,]+)", names[i])
            dtype = _C_TYPES.get(match[2].strip().rpartition("::")[2], "") if match else ""
            found.append(dtype if match and preset.names.find(match[1]) and match[1] not in preset.shared else "")
    return found


def _joined(dtypes: list[str]) -> str:
    """One text for a branch in branches, the outermost first and the others in order, as names with several dtypes have them."""
    return "+".join([dtypes[0], *sorted(set(dtypes) - {dtypes[0]}, key=CODES.__getitem__)]) if dtypes else ""
