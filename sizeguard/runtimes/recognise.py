"""Recognise the runtime of an image by the names in it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Texts
from sizeguard.names.demangle import mangled
from sizeguard.runtimes.known import NAMES, runtime_named, runtimes

if TYPE_CHECKING:
    from sizeguard.names.rules import Rules

SAMPLE = 10_000  # sampled names: one of 47 in libtorch_cpu.so, 6 ms


@dataclass(frozen=True)
class Choice:
    """The chosen preset. name: of a built-in preset; rules: of a file, which take precedence.

    fits: whether the image has names in the preset's namespaces.
    """

    name: str
    rules: Rules | None
    fits: bool

    @property
    def names_are_enough(self) -> bool:
        """Return whether names are better evidence than registration tables."""
        return runtime_named(self.name).names_are_enough

    @cached_property
    def preset(self) -> Rules:
        """The preset, read on first use."""
        chosen = runtime_named(self.name).rules
        return self.rules.before(chosen) if self.rules is not None else chosen


def choose_preset(names: Texts, preset: str, rules: Path | None, text: str = "") -> Choice:
    """Choose the named preset, or for `auto` the one with the most frequent namespaces.

    The first one is chosen if no namespace is found. text: rules as text; rules from a file replace
    them.

    Raises InputError for unknown presets and damaged rules.
    """
    counts = _counts(names)
    own = None
    runtime_named(preset if preset != "auto" else NAMES[0])
    if rules is not None:
        # Imported here: YAML takes 15 ms, and most reports use no own rules.
        from sizeguard.names.rules_reader import read_preset

        own = read_preset(rules)
    elif text:
        from sizeguard.names.rules_reader import parse_preset

        own = parse_preset(text, Path("rules"))
    name = preset if preset != "auto" else max(counts, key=counts.__getitem__)
    return Choice(name, own, counts[name] > 0)


def _counts(names: Texts) -> dict[str, int]:
    """Count the names in a sample that belong to the namespaces of each preset."""
    rows = (
        np.linspace(0, len(names) - 1, min(SAMPLE, len(names))).astype(np.int64)
        if len(names)
        else np.zeros(0, np.int64)
    )
    content = names.buffer.data
    some = names.take(rows)
    sample = b"\0".join(
        [
            content[start:end]
            for start, end in zip(some.start.tolist(), some.end.tolist(), strict=True)
        ]
    )
    return {
        runtime.name: sum(
            sample.count(mangled(path.split("::")).encode()) for path in runtime.namespaces
        )
        for runtime in runtimes()
    }
