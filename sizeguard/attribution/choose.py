"""Turns the names of an image into the preset that reads them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.attribution.preset_names import NAMES_ARE_ENOUGH, PRESETS
from sizeguard.formats.texts import Texts

if TYPE_CHECKING:
    from sizeguard.attribution.preset import Preset

SAMPLE = 10_000  # names that are looked at: one of 47 of libtorch_cpu.so, 6 ms


@dataclass(frozen=True)
class Choice:
    """name: of a preset of ours; rules: of a file, which come before it; fits: whether the image has names in the preset's namespaces."""

    name: str
    rules: Preset | None
    fits: bool

    @property
    def names_are_enough(self) -> bool:
        """Whether names say more than registration tables do."""
        return self.name in NAMES_ARE_ENOUGH

    @cached_property
    def preset(self) -> Preset:
        """Read when asked for."""
        from sizeguard.attribution.preset import load_preset

        chosen = load_preset(self.name)
        return self.rules.before(chosen) if self.rules is not None else chosen


def choose_preset(names: Texts, preset: str, rules: Path | None) -> Choice:
    """The named preset, or for auto the one whose namespaces stand in most names, the first one if none fits.

    Raises InputError for unknown presets and damaged rules.
    """
    counts = _counts(names)
    own = None
    if preset not in ("auto", *PRESETS) or rules is not None:
        from sizeguard.attribution.preset import load_preset, read_preset

        own = read_preset(rules) if rules is not None else None
        load_preset(preset if preset != "auto" else next(iter(PRESETS)))
    name = preset if preset != "auto" else max(counts, key=counts.__getitem__)
    return Choice(name, own, counts[name] > 0)


def _counts(names: Texts) -> dict[str, int]:
    """How often the namespaces of each preset stand in a sample of the names."""
    rows = np.linspace(0, len(names) - 1, min(SAMPLE, len(names))).astype(np.int64) if len(names) else np.zeros(0, np.int64)
    content = names.buffer.data
    some = names.take(rows)
    sample = b"\0".join([content[start:end] for start, end in zip(some.start.tolist(), some.end.tolist(), strict=True)])
    return {preset: sum(sample.count(_mangled(path)) for path in paths) for preset, paths in PRESETS.items()}


def _mangled(path: str) -> bytes:
    return "".join(f"{len(word)}{word}" for word in path.split("::")).encode()
