"""Labels of names that were labelled before: two builds of one library share nearly all names."""

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
    """Labels of the last image's names, 24 bytes a name.

    They can be used again, since labels depend only on a name and the rules.
    """

    def __init__(self) -> None:
        """Know no names yet."""
        self._last: tuple[Choice, Hash, NameLabels] | None = None

    def labels(self, names: Texts, hashes: Hash, choice: Choice) -> NameLabels:
        """Return the labels that label_names gives the names.

        hashes: of the names, which are distinct
        """
        from sizeguard.names.labels import label_names  # 20 ms, for levels of names alone

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
    """Label names: known ones by `place`, their index among the known or -1, others anew."""
    from sizeguard.names.labels import NameLabels, label_names  # 20 ms, for levels of names alone

    old, new = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
    more = label_names(names.take(new), choice.preset)
    pool = Pool()
    # By identity of a table of texts, which the levels of an image share.
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
