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

_LEVELS = ("operator", "kernel", "found_dtype", "component")  # fields of NameLabels


class KnownLabels:
    """Labels of the last image's names, 24 bytes for each name.

    They can be reused, since labels depend only on the name and the rules.
    """

    def __init__(self) -> None:
        """Start without names."""
        self._last: tuple[Choice, Hash, NameLabels] | None = None

    def labels(
        self, names: Texts, hashes: Hash, choice: Choice, *, dtypes: bool = True
    ) -> NameLabels:
        """Return the labels of the names, the same as label_names returns.

        hashes: hashes of the names, which are distinct
        """
        from sizeguard.names.labels import label_names  # takes 20 ms; only levels of names need it

        if self._last is None or not _is_alike(self._last, choice, dtypes):
            found = label_names(names, choice.preset, dtypes=dtypes, hashes=hashes)
        elif np.array_equal(self._last[1], hashes):
            found = self._last[2]  # a change of code alone leaves the names in their order
        else:
            found = _joined(self._last[2], find_hashes(self._last[1], hashes), names, choice)
        self._last = choice, hashes, found
        return found


def _is_alike(last: tuple[Choice, Hash, NameLabels], choice: Choice, dtypes: bool) -> bool:
    """Return whether the last names were labelled by the same rules, with dtypes or without."""
    known, _, labels = last
    has_dtypes = labels.found_dtype is not None
    return (known.name, known.rules, has_dtypes) == (choice.name, choice.rules, dtypes)


def _joined(
    known: NameLabels, place: npt.NDArray[np.int32], names: Texts, choice: Choice
) -> NameLabels:
    """Label names: known ones by `place`, others (-1) by the rules.

    place: index of each name among the known names
    """
    # takes 20 ms; only levels of names need it
    from sizeguard.names.labels import NameLabels, label_names

    old, new = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
    more = label_names(names.take(new), choice.preset, dtypes=known.found_dtype is not None)
    pool = Pool()
    # The key is the identity of a table of texts, since an image's levels share tables.
    numbers: dict[int, npt.NDArray[np.int32]] = {}
    columns: dict[str, npt.NDArray[np.int32]] = {}
    for level in _LEVELS:
        before, after = getattr(known, level), getattr(more, level)
        if before is None:
            continue
        for label in (before, after):
            if id(label.texts) not in numbers:
                numbers[id(label.texts)] = pool.add(label.texts)
        ids = np.zeros(len(names), np.int32)
        ids[old] = numbers[id(before.texts)][before.ids[place[old]]]
        ids[new] = numbers[id(after.texts)][after.ids]
        columns[level] = ids
    table = Texts.of(pool.texts)
    labels = {level: Label(column, table) for level, column in columns.items()}
    return NameLabels(
        labels["operator"], labels["kernel"], labels.get("found_dtype"), labels["component"]
    )
