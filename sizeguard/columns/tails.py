"""The ends of half a million names as numbers, and the suffixes that gcc gives to clones.

f.cold  f.part.0  f.isra.0  f.constprop.12  f.localalias  →  f
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.text_hash import Hash, words_of
from sizeguard.columns.texts import Int, Texts

WORD = 8  # bytes that are compared at once
_LAST = np.uint64(56)
_MOST_DIGITS = 6  # of a clone's number
_BATCH = 1 << 12  # names whose text fits the cache


class Tails:
    """The last bytes of names as eight-byte numbers, with the last byte highest."""

    def __init__(self, texts: Texts) -> None:
        """Start with the whole names.

        first, last: the words that begin and end each name. A name ends where the next one begins,
            so reading both of a batch at a time finds half of them in the cache.
        """
        self.words, self.start = words_of(texts)
        self.end = self.start + texts.lengths()
        self.first, self.last = np.empty((2, len(self.end)), np.uint64)
        for low in range(0, len(self.end), _BATCH):
            some = slice(low, low + _BATCH)
            self.first[some] = self.word(self.start[some])
            self.last[some] = self.word(self.end[some] - WORD)

    def length(self) -> Int:
        """Return the lengths of the names, without the suffixes removed so far."""
        return np.asarray(self.end - self.start, np.int64)

    def word(self, at: Int) -> Hash:
        """Return the eight bytes at each place as a number."""
        found: Hash = self.words[np.clip(at, 0, len(self.words) - 1)].astype(np.uint64, copy=False)
        return found

    def cut_suffixes(self, which: npt.NDArray[np.intp]) -> None:
        """Remove the usual suffixes of clones from some names."""
        left = which
        while len(left):
            cut = self.suffix(left)
            left, cut = left[cut > 0], cut[cut > 0]
            self.end[left] -= cut
            self.last[left] = self.word(self.end[left] - WORD)

    def suffix(self, which: npt.NDArray[np.intp]) -> Int:
        """Return the length of each name's suffix; 0 without one, or if nothing precedes it."""
        end, last, more = self._with_one_digit(which)
        cut = np.zeros(len(which), np.int64)
        cut[last >> np.uint64(24) == number_of(b".cold")] = len(".cold")
        six = (last >> np.uint64(8)) & np.uint64(0xFFFFFFFFFFFF)
        is_clone = (six == number_of(b".isra.")) | (six == number_of(b".part."))
        cut[is_clone & is_digit(last)] = len(".isra.0")
        # Few names have the longer suffixes, so only their words are read.
        seven = last & np.uint64(0xFFFFFFFFFFFFFF)
        rows = np.flatnonzero((seven == number_of(b"stprop.")) & is_digit(last))
        rows = rows[self.word(end[rows] - 12) == number_of(b".constpr")]
        cut[rows] = len(".constprop.0")
        rows = np.flatnonzero(last == number_of(b"calalias"))
        rows = rows[self.word(end[rows] - 11) == number_of(b".localal")]
        cut[rows] = len(".localalias")
        cut[self.start[which] + cut >= end] = 0
        return np.where(cut > 0, cut + more, 0)

    def _with_one_digit(self, which: npt.NDArray[np.intp]) -> tuple[Int, Hash, Int]:
        """Return the ends of names after the first digit of a number there, and their last words.

        The third result is the number of the further digits.
        """
        end, last = self.end[which], self.last[which]
        more = np.zeros(len(which), np.int64)
        rows = np.flatnonzero(is_digit(last) & is_digit(last << np.uint64(8)))
        for _ in range(_MOST_DIGITS - 1):
            rows = rows[end[rows] - WORD > self.start[which[rows]]]
            end[rows] -= 1
            more[rows] += 1
            last[rows] = self.word(end[rows] - WORD)
            rows = rows[is_digit(last[rows] << np.uint64(8))]
        return end, last, more


def number_of(text: bytes) -> np.uint64:
    """Return bytes as a number, little endian."""
    return np.uint64(int.from_bytes(text, "little"))


def is_digit(words: Hash) -> npt.NDArray[np.bool_]:
    """Check which words end with a digit."""
    last = words >> _LAST
    found: npt.NDArray[np.bool_] = (last >= ord("0")) & (last <= ord("9"))
    return found
