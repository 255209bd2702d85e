"""Turns inline frames into dtype branches inside of functions that serve all dtypes: run_case<ScalarType::Float> inlined into a switch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sizeguard.attribution.dtypes import DTYPES
from sizeguard.attribution.labels import label_names
from sizeguard.attribution.preset import Preset
from sizeguard.formats.dwarf import inline_frames
from sizeguard.formats.texts import Int, Texts


@dataclass(frozen=True, slots=True)
class Branches:
    """Code [start, end), by address, that one dtype's branch was compiled to. dtype: for each its name."""

    start: Int
    end: Int
    dtype: tuple[str, ...]


def inlined_branches(path: Path, debug: Path | None, preset: Preset, arch: str = "") -> Branches:
    """By the debug information of an image, its debug file or its dSYM. Only frames of the preset's case functions count: std::max<long>
    in a neutral function is no branch."""
    frames = inline_frames(path, debug, arch)
    dtypes = case_dtypes(frames.names, preset)
    start: list[int] = []
    end: list[int] = []
    dtype: list[str] = []
    bounds = frames.first.tolist()
    frame = frames.frame.tolist()
    for row, (low, high) in enumerate(zip(frames.start.tolist(), frames.end.tolist(), strict=True)):
        # The innermost case; the function itself, which is last, is named by its symbol.
        found = next((dtypes[i] for i in frame[bounds[row] : bounds[row + 1] - 1] if dtypes[i]), "")
        if found and dtype and dtype[-1] == found and end[-1] == low:
            end[-1] = high
        elif found:
            start.append(low)
            end.append(high)
            dtype.append(found)
    return Branches(np.array(start, np.int64), np.array(end, np.int64), tuple(dtype))


def case_dtypes(names: Texts, preset: Preset) -> list[str]:
    """Of each name the dtype that a case has: by its mangled name, or as the source has it, which differs from compiler to compiler."""
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
