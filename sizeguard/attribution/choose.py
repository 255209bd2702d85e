"""Turns the names of an image into the preset that reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sizeguard.attribution.name_scan import mangled
from sizeguard.attribution.preset import PRESETS, Preset, identifier_of, load_preset, read_preset
from sizeguard.formats.texts import Texts

SAMPLE = 20_000  # names that are looked at: one of 26 of libtorch_cpu.so, 6 ms


def choose_preset(names: Texts, preset: str, rules: Path | None) -> Preset:
    """The named preset, or for auto the one whose namespaces stand in most names; the rules of a file come before it."""
    chosen = load_preset(preset if preset != "auto" else fitting_preset(names))
    return read_preset(rules).before(chosen) if rules is not None else chosen


def fitting_preset(names: Texts) -> str:
    """The first one if none fits."""
    sample = _sample(names)
    return max(PRESETS, key=lambda name: _count(sample, load_preset(name)))


def is_seen(names: Texts, preset: Preset) -> bool:
    """Whether names of the preset's namespaces are among them."""
    return _count(_sample(names), preset) > 0


def _sample(names: Texts) -> bytes:
    rows = np.linspace(0, len(names) - 1, min(SAMPLE, len(names))).astype(np.int64) if len(names) else np.zeros(0, np.int64)
    return b"\0".join(names.raw(row) for row in rows.tolist())


def _count(sample: bytes, preset: Preset) -> int:
    return sum(sample.count(_mangled(path)) for path in preset.detect)


def _mangled(path: str) -> bytes:
    return mangled(tuple(identifier_of(word) for word in path.split("::"))).encode()
