"""Labels of names that were labelled before; two builds of a library share nearly all names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sizeguard.columns.label import Label
from sizeguard.columns.pool import Pool
from sizeguard.columns.ranks import find_hashes
from sizeguard.columns.text_hash import Hash
from sizeguard.columns.texts import Texts
from sizeguard.runtimes.recognise import Choice

if TYPE_CHECKING:
    from sizeguard.names.labels import NameLabels

_LEVELS = ("operator", "kernel", "dtype", "component")


class KnownLabels:
    """Labels of the last image's names, 24 bytes for each name.

    They can be reused, since labels depend only on the name and the rules.
    """

    def __init__(self) -> None:
        """Start without names."""
        self._last: tuple[Choice, Hash, NameLabels] | None = None

    def labels(self, names: Texts, hashes: Hash, choice: Choice) -> NameLabels:
        """Return the labels of the names, the same as label_names returns.

        hashes: hashes of the names, which are distinct
        """
        from sizeguard.names.labels import label_names  # takes 20 ms; only levels of names need it

        if self._last is None or (self._last[0].name, self._last[0].rules) != (
            choice.name,
            choice.rules,
        ):
            found = label_names(names, choice.preset)
        else:
            found = _joined(self._last[2], find_hashes(self._last[1], hashes), names, choice)
        self._last = choice, hashes, found
        return found


def _joined(
    known: NameLabels, place: npt.NDArray[np.int32], names: Texts, choice: Choice
) -> NameLabels:
    """Label names: known ones by `place`, others (-1) by the rules.

    place: index of each name among the known names
    """
    # takes 20 ms; only levels of names need it
    from sizeguard.names.labels import NameLabels, label_names

    old, new = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
    more = label_names(names.take(new), choice.preset)
    pool = Pool()
    # The key is the identity of a table of texts, since an image's levels share tables.
    numbers: dict[int, npt.NDArray[np.int32]] = {}
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
