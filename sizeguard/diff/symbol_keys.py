"""Hash the keys of two images' symbols: nearly all names are in both, and are read once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.label import Label
from sizeguard.columns.ranks import rank_hashes
from sizeguard.columns.text_hash import Hash, hash_texts
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.diff.stable_names import hash_keys


@dataclass(frozen=True, slots=True)
class UsedNames:
    """Names of some symbols of an image.

    tables: the names, in order; each table has one buffer, so that nothing is copied
    hashes: text_hash.hash_texts of them
    """

    tables: tuple[Texts, ...]
    hashes: Hash

    @staticmethod
    def of(label: Label, used: Int) -> UsedNames:
        """Select names of a level; used: indices of its texts, ascending."""
        tables = tuple(_parts(label.texts.tables(), used))
        if label.hashes is not None:
            return UsedNames(tables, label.hashes[used])
        hashes = np.concatenate([np.zeros(0, np.uint64), *map(hash_texts, tables)])
        return UsedNames(tables, hashes)

    def keys(self, which: Int) -> Hash:
        """Hash the keys of some of the names, given by ascending indices."""
        found, low = [np.zeros(0, np.uint64)], 0
        for part in _parts(self.tables, which):
            found.append(hash_keys(part, self.hashes[which[low : low + len(part)]]))
            low += len(part)
        return np.concatenate(found)


def _parts(tables: Sequence[Texts], which: Int) -> Iterator[Texts]:
    """Select strings of several tables, given by ascending indices into all of them."""
    low = 0
    for table in tables:
        first, last = np.searchsorted(which, (low, low + len(table)))
        yield table.take(which[first:last] - low)
        low += len(table)


class SymbolKeys:
    """The distinct names of both images.

    count: their number; numbers: for each image, the number of each of its names
    """

    def __init__(self, sides: Sequence[UsedNames]) -> None:
        """Compare the names of the images."""
        self._sides = sides
        number, known = rank_hashes(np.concatenate([side.hashes for side in sides]))
        self.count = len(known)
        bounds = np.cumsum([len(side.hashes) for side in sides])[:-1]
        self.numbers: tuple[Int32, ...] = tuple(np.split(number, bounds))

    def keys(self) -> Hash:
        """Hash the key of each distinct name."""
        keys, is_left = np.zeros(self.count, np.uint64), np.ones(self.count, np.bool_)
        for side, number in zip(self._sides, self.numbers, strict=True):
            some = np.flatnonzero(is_left[number])
            keys[number[some]] = side.keys(some)
            is_left[number] = False
        return keys
