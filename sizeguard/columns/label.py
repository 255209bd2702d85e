"""Labels of rows: a string for each row, where equal strings are stored once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.texts import Int, Texts


@dataclass(frozen=True, slots=True)
class Label:
    """The values of one level: row i has texts[ids[i]].

    Symbols are mangled, as in the symbol table.

    hashes: text_hash.hash_texts of the texts; given only if the texts that rows use are distinct.
    order: the indices of the texts in ascending order of their hashes.
    """

    ids: npt.NDArray[np.int32]
    texts: Texts
    hashes: npt.NDArray[np.uint64] | None = None
    order: Int | None = None


def used_texts(label: RowTexts) -> Int:
    """Return the indices of the texts that rows use, ascending."""
    return np.flatnonzero(np.bincount(label.ids, minlength=len(label.texts)))


def rows_with(label: RowTexts, fits: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows whose text fits; each text that rows use is tried once."""
    good = np.zeros(max(len(label.texts), 1), np.bool_)
    for i in used_texts(label).tolist():
        good[i] = fits(label.texts[i])
    found: npt.NDArray[np.bool_] = good[label.ids]
    return found


class TextList(Protocol):
    """Strings, or an object that makes them on request."""

    def __len__(self) -> int:
        """Return the number of strings."""

    def __getitem__(self, index: int) -> str:
        """Return one string, decoded."""

    def raw(self, index: int) -> bytes:
        """Return one string's bytes."""


class RowTexts(Protocol):
    """The strings that a report or a diff shows for a level: row i has texts[ids[i]]."""

    @property
    def ids(self) -> npt.NDArray[np.int32]:
        """Index into texts for each row, int32."""

    @property
    def texts(self) -> TextList:
        """The strings, each once."""
