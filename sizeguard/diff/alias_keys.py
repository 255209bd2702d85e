"""Match alias groups of two images: all names that share bytes in either image get one key.

The key is the shortest of the names that are connected in the old or the new image. It does not
depend on which name a linker keeps or a reader finds first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sizeguard.attribution.analysis import Aliases
from sizeguard.base.dataclass import dataclass
from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.ranks import find_hashes, rank_hashes
from sizeguard.columns.text_calls import call_for_texts
from sizeguard.columns.text_hash import Hash
from sizeguard.columns.texts import Int, Texts
from sizeguard.diff.stable_names import Keys, hashes_of, keys

_CODE = compiled_beside(__file__)


@dataclass(frozen=True, slots=True)
class AliasNames:
    """The alias groups of one image.

    Group g has the keys [first[g], first[g + 1]); hashes, length, letters: hash, length and first
    letters of each key.
    """

    first: Int
    keys: Keys
    hashes: Hash
    length: Int
    letters: Hash


@dataclass(frozen=True, slots=True)
class AliasKeys:
    """Keys of names that share bytes, in both images.

    known:   hashes of all these names, ascending
    key:     for each of them, the hash of its key
    sides:   the names of both images
    of_name: for each of `known`, its first name
    """

    known: Hash
    key: Hash
    sides: tuple[AliasNames, ...]
    of_name: Int

    def apply(self, hashes: Hash) -> Hash:
        """Replace the hashes of names that share bytes with the hashes of their keys."""
        # Most names share no bytes; a table of low bits rules them out in a fifth of the time.
        last = np.uint64((1 << 20) - 1)
        may_be = np.zeros(1 << 20, np.bool_)
        may_be[self.known & last] = True
        some = np.flatnonzero(may_be[hashes & last])
        at = find_hashes(self.known, hashes[some])
        some, at = some[at >= 0], at[at >= 0]
        result = hashes.copy()
        result[some] = self.key[at]
        return result

    def numbers(self, hashes: Hash) -> Int:
        """Return the number of the name with each key's hash; -1 if there is none."""
        at = np.minimum(np.searchsorted(self.known, hashes), len(self.known) - 1)
        return np.where(self.known[at] == hashes, self.of_name[at], -1)

    def text(self, name: int) -> bytes:
        """Return a name by its number."""
        for side in self.sides:
            if name < len(side.hashes):
                return side.keys.raw(name)
            name -= len(side.hashes)
        raise IndexError(name)


def alias_names(aliases: Aliases | None) -> AliasNames | None:
    """Read an image's groups; None if no bytes have two names."""
    if aliases is None or not len(aliases.names):
        return None
    found = keys(aliases.names)
    length, letters = found.heads.end - found.heads.start, first_letters(found.heads)
    which, odd = found.odd_texts()
    length[which], letters[which] = odd.end - odd.start, first_letters(odd)
    return AliasNames(
        aliases.first, found, hashes_of(found, aliases.names, aliases.hashes), length, letters
    )


def alias_keys(both: Sequence[AliasNames | None]) -> AliasKeys | None:
    """Connect the groups of both images; None if no bytes have two names."""
    sides = tuple(side for side in both if side is not None)
    if not sides:
        return None
    counts = np.concatenate([np.diff(side.first) for side in sides])
    group = np.repeat(np.arange(len(counts)), counts)
    name, known = rank_hashes(np.concatenate([side.hashes for side in sides]))
    first = np.zeros(len(known), np.int64)
    # if a place is assigned several times, the last assignment wins
    first[name[::-1]] = np.arange(len(name))[::-1]
    # Names are numbered by length, then by letters, so that the smallest number of a group is its
    # key.
    length, letters = (
        np.concatenate(columns)[first]
        for columns in ([side.length for side in sides], [side.letters for side in sides])
    )
    order = np.lexsort((known, letters, length))
    number = np.zeros(len(known), np.int64)
    number[order] = np.arange(len(known))
    smallest = connected(number[name], group, len(known), len(counts))
    key = order[smallest[number]]
    return AliasKeys(known, known[key], sides, first)


def first_letters(texts: Texts) -> Hash:
    """Return the beginnings of names as numbers that sort like the names.

    Only the first eight bytes of a name count.
    """
    letters = np.empty(len(texts), np.uint64)
    call_for_texts(_CODE, "first_letters", texts, letters)
    return letters


def connected(name: Int, group: Int, names: int, groups: int) -> Int:
    """Return the smallest name that each name is connected with.

    Entry i means that name[i] is in group[i].

    Numbers spread from names to groups and back; following them twice in each round shortens long
    chains.
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
