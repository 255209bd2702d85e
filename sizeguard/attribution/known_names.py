"""Turns names that were labelled before into their labels: two builds of one library share nearly all of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import Label
from sizeguard.attribution.choose import Choice
from sizeguard.attribution.columns import Pool
from sizeguard.attribution.hash_ranks import find_hashes
from sizeguard.formats.text_hash import Hash
from sizeguard.formats.texts import Texts

if TYPE_CHECKING:
    from sizeguard.attribution.labels import NameLabels

_LEVELS = ("operator", "kernel", "dtype", "component")


class KnownNames:
    """Keeps the labels of the last image's names, 24 bytes a name: labels depend on a name and the rules alone."""

    def __init__(self) -> None:
        self._last: tuple[Choice, Hash, NameLabels] | None = None

    def labels(self, names: Texts, hashes: Hash, choice: Choice) -> NameLabels:
        """What label_names says of the names. hashes: of the names, which are distinct."""
        from sizeguard.attribution.labels import label_names

        if self._last is None or (self._last[0].name, self._last[0].rules) != (choice.name, choice.rules):
            found = label_names(names, choice.preset)
        else:
            found = _joined(self._last[2], find_hashes(self._last[1], hashes), names, choice)
        self._last = choice, hashes, found
        return found


def _joined(known: NameLabels, place: npt.NDArray[np.int32], names: Texts, choice: Choice) -> NameLabels:
    """place: of each name its number among the known ones, or -1."""
    from sizeguard.attribution.labels import NameLabels, label_names

    old, new = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
    more = label_names(names.take(new), choice.preset)
    pool = Pool()
    numbers: dict[int, npt.NDArray[np.int32]] = {}  # by table: the levels of an image share one
    columns = []
    for level in _LEVELS:
        before, after = getattr(known, level), getattr(more, level)
        for label in (before, after):
            if id(label.texts) not in numbers:
                numbers[id(label.texts)] = pool.add(label.texts)
        ids = np.zeros(len(names), np.int32)
        ids[old] = numbers[id(before.texts)][before.ids[place[old]]]
        ids[new] = numbers[id(after.texts)][after.ids]
        columns.append(ids)
    table = Texts.of(pool.texts)
    return NameLabels(*(Label(ids, table) for ids in columns))
