"""Turns the alias groups of two images into one key for names that either image has in one place.

Whichever name of folded functions a linker keeps, and whichever a reader finds first, the key is the same: of names that are
connected, in the old or in the new image, the shortest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sizeguard.attribution.analysis import Aliases
from sizeguard.attribution.symbol_keys import keys_of
from sizeguard.formats.text_hash import Hash, hash_texts, words_of
from sizeguard.formats.texts import Int, Texts


@dataclass(frozen=True, slots=True)
class AliasKeys:
    """known: hashes of all names that share bytes, ascending; key: of each the hash of its key; texts: the name of each."""

    known: Hash
    key: Hash
    texts: Texts

    def apply(self, hashes: Hash) -> Hash:
        """The key's hash for names that share bytes, the same hash for others."""
        at = np.minimum(np.searchsorted(self.known, hashes), len(self.known) - 1)
        return np.where(self.known[at] == hashes, self.key[at], hashes)

    def rename(self, texts: list[bytes], hashes: Hash) -> None:
        """Texts whose hashes are keys become the keys' texts."""
        at = np.minimum(np.searchsorted(self.known, hashes), len(self.known) - 1)
        for i in np.flatnonzero(self.known[at] == hashes).tolist():
            texts[i] = self.texts.raw(int(at[i]))


def alias_keys(both: Sequence[Aliases | None]) -> AliasKeys | None:
    """None if no bytes have two names."""
    sides = [side for side in both if side is not None and len(side.names)]
    if not sides:
        return None
    keys = Texts.of([key for side in sides for key in keys_of(side.names)])
    hashes = hash_texts(keys)
    counts = np.concatenate([np.diff(side.first) for side in sides])
    group = np.repeat(np.arange(len(counts)), counts)
    known, first, name = np.unique(hashes, return_index=True, return_inverse=True)
    # The shortest first, of those the first by its letters, so that the smallest number of a group is its key.
    of_name = keys.take(first)
    order = np.lexsort((known, _first_letters(of_name), of_name.end - of_name.start))
    number = np.zeros(len(known), np.int64)
    number[order] = np.arange(len(known))
    smallest = connected(number[name], group, len(known), len(counts))
    key = order[smallest[number]]
    return AliasKeys(known, known[key], of_name)


def _first_letters(texts: Texts) -> Hash:
    """The last eight bytes of names up to eight bytes long, the first eight of others, so that numbers compare as texts do."""
    words, start = words_of(texts)
    length = texts.end - texts.start
    at = np.where(length < 8, start + length - 8, start)
    found: Hash = words[np.clip(at, 0, len(words) - 1)].astype(np.uint64, copy=False).byteswap()
    return found & np.where(length < 8, (np.uint64(1) << (np.minimum(length, 7) * 8).astype(np.uint64)) - np.uint64(1), ~np.uint64(0))


def connected(name: Int, group: Int, names: int, groups: int) -> Int:
    """Of each name the smallest that it is connected with: entry i says that name[i] is in group[i].

    Numbers spread from names to groups and back; following them twice in each round makes long chains short.
    """
    smallest = np.arange(names, dtype=np.int64)
    while True:
        of_group = np.full(groups, names, np.int64)
        np.minimum.at(of_group, group, smallest[name])
        spread = smallest.copy()
        np.minimum.at(spread, name, of_group[group])
        np.minimum.at(spread, smallest[name], of_group[group])
        spread = spread[spread]
        if np.array_equal(spread, smallest):
            return smallest
        smallest = spread
