"""Assign components by place: a user's rules by source, section, object or symbol."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sizeguard.columns.label import Label
from sizeguard.columns.pool import Pool
from sizeguard.columns.texts import Texts

if TYPE_CHECKING:
    from sizeguard.names.rules import PlaceRule


def placed_components(
    label: Label, places: Sequence[PlaceRule], of_level: Callable[[str], Label]
) -> Label:
    """Replace the components of rows that a rule matches; the first matching rule wins."""
    if not places:
        return label
    pool = Pool()
    numbers = np.array(
        [pool.number(label.texts[i]) for i in range(len(label.texts))] or [pool.number("")],
        np.int32,
    )
    ids = numbers[label.ids]
    for rule in reversed(places):
        fits = np.ones(len(ids), np.bool_)
        for level, pattern in rule.globs:
            fits &= _fitting(level, pattern, of_level(level))
        ids[fits] = pool.number(rule.component)
    return Label(ids, Texts.of(pool.texts))


def _fitting(level: str, pattern: str, label: Label) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows with a text that matches; symbols match in either spelling.

    Only * and ? are special, because C++ names contain brackets.
    """
    from sizeguard.names.spellings.plain_paths import compared_text  # 5 ms; only such rules need it

    glob = pattern.replace("[", "[[]")

    def fits(text: str) -> bool:
        if not text:
            return False
        is_symbol = level == "symbol"
        return fnmatch.fnmatchcase(text, glob) or (
            is_symbol and fnmatch.fnmatchcase(compared_text(text), glob)
        )

    texts = (label.texts[i] for i in range(len(label.texts)))
    good = np.fromiter(map(fits, texts), np.bool_, len(label.texts))
    return good[label.ids] if len(good) else np.zeros(len(label.ids), np.bool_)
