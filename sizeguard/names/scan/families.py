"""Families of names: names that have equal labels, so that one of them is read for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sizeguard.columns.ranks import rank_hashes
from sizeguard.columns.tails import WORD, Tails, number_of
from sizeguard.columns.text_hash import Hash, hash_texts
from sizeguard.columns.texts import Int, Texts

_NUMBER = len("0Ev")  # what follows the D of a destructor: its number, and no parameters


@dataclass(frozen=True, slots=True)
class Families:
    """Families of names: name i is in family `of[i]`; `first` has a name of each, in order."""

    first: Int
    of: Int


def families(names: Texts, hashes: Hash) -> Families:
    """Find names that mention the same identifiers and types, so that one is read for all.

    They are a function with its clones, and the destructors of a class: 474,169 names of
    libtorch_cpu.so are in 357,735 families. Reading their 76 MB takes 1.0 s, and finding the
    families 0.1 s, of which 54 MB are left.

    hashes: different for different names; if they are those of text_hash, clones join their
        function, else only each other
    """
    tails = Tails(names)
    tails.cut_suffixes(np.arange(len(names)))
    _cut_destructors(tails)
    length = tails.length()
    cut = np.flatnonzero(length < names.lengths())
    keys = hashes.copy()
    keys[cut] = hash_texts(Texts(names.buffer, names.start[cut], names.start[cut] + length[cut]))
    rank, known = rank_hashes(keys)
    first = np.zeros(len(known), np.int64)
    # If numpy assigns to one place several times, the last assignment wins.
    first[rank[::-1]] = np.arange(len(rank))[::-1]
    is_first = np.zeros(len(names), np.bool_)
    is_first[first] = True
    number = np.cumsum(is_first) - 1
    return Families(np.flatnonzero(is_first), number[first][rank])


def _cut_destructors(tails: Tails) -> None:
    """Remove what distinguishes the destructors D0, D1 and D2 of a class."""
    last = tails.word(tails.end - WORD) >> np.uint64(32)
    rows = np.flatnonzero(last & ~np.uint64(0xFF00) == number_of(b"D\0Ev"))
    digits = (last[rows] >> np.uint64(8)) & np.uint64(0xFF)
    rows = rows[(digits >= ord("0")) & (digits <= ord("2"))]
    first = tails.word(tails.start[rows]) & np.uint64(0xFFFFFF)
    tails.end[rows[first == number_of(b"_ZN")]] -= _NUMBER
