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
    rows = np.linspace(0, len(names) - 1, min(SAMPLE, len(names))).astype(np.int64) if len(names) else np.zeros(0, np.int64)
    sample = b"\0".join(names.raw(row) for row in rows.tolist())
    counts = {name: sum(sample.count(_mangled(path)) for path in load_preset(name).detect) for name in PRESETS}
    return max(PRESETS, key=lambda name: counts[name])


def _mangled(path: str) -> bytes:
    return mangled(tuple(identifier_of(word) for word in path.split("::"))).encode()
