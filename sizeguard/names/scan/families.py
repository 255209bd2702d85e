"""Families of names: names that have equal labels, so that one of them is read for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.columns.sort import sorted_hashes
from sizeguard.columns.tails import WORD, Tails, number_of
from sizeguard.columns.text_hash import Hash, hash_texts
from sizeguard.columns.texts import Int, Texts

_NUMBER = len("0Ev")  # what follows the D of a destructor: its number, and no parameters
# _ZTV, _ZTI and _ZTS precede the name of a class, which is nested, of std, or local to a function.
# The S of _ZTS and the digits of another class could be read as a substitution: _ZTS4_Foo.
_OF_CLASS = len("_ZTV")
_KINDS = np.isin(np.arange(256), np.frombuffer(b"VIS", np.uint8))
_CLASSES = np.isin(np.arange(256), np.frombuffer(b"NSZ", np.uint8))
_CLASS_KEY = np.uint64(0x9E3779B97F4A7C15)  # so that no key of a class is that of a name


@dataclass(frozen=True, slots=True)
class Families:
    """Families of names: name i is in family `of[i]`; `first` has a name of each, in order."""

    first: Int
    of: Int


def families(names: Texts, hashes: Hash) -> Families:
    """Find names that mention the same identifiers and types, so that one is read for all.

    They are a function with its clones, the destructors of a class, and its virtual table with its
    type information: 474,169 names of libtorch_cpu.so are in 309,109 families. Finding the
    families takes 0.1 s and leaves 45 of 76 MB to read; all names would take 1.0 s.

    hashes: different for different names; if they are those of text_hash, clones join their
        function, else only each other
    """
    tails = Tails(names)
    tails.cut_suffixes(np.arange(len(names)))
    _cut_destructors(tails)
    length = tails.length()
    is_class = _are_of_classes(tails)
    cut = np.flatnonzero(is_class | (length < names.lengths()))
    start, is_class = names.start[cut], is_class[cut]
    keys = hashes.copy()
    keys[cut] = hash_texts(
        Texts(names.buffer, start + np.where(is_class, _OF_CLASS, 0), start + length[cut])
    )
    keys[cut[is_class]] ^= _CLASS_KEY
    order, ordered = sorted_hashes(keys)
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    begin = np.flatnonzero(is_new)
    first = order[begin]  # the sort is stable
    is_first = np.zeros(len(names), np.bool_)
    is_first[first] = True
    number = np.cumsum(is_first) - 1
    of = np.empty(len(names), np.int64)
    of[order] = np.repeat(number[first], np.diff(begin, append=len(order)))
    return Families(np.flatnonzero(is_first), of)


def _cut_destructors(tails: Tails) -> None:
    """Remove what distinguishes the destructors D0, D1 and D2 of a class."""
    last = tails.last >> np.uint64(32)
    rows = np.flatnonzero(last & ~np.uint64(0xFF00) == number_of(b"D\0Ev"))
    digits = (last[rows] >> np.uint64(8)) & np.uint64(0xFF)
    rows = rows[(digits >= ord("0")) & (digits <= ord("2"))]
    first = tails.first[rows] & np.uint64(0xFFFFFF)
    tails.end[rows[first == number_of(b"_ZN")]] -= _NUMBER


def _are_of_classes(tails: Tails) -> npt.NDArray[np.bool_]:
    """Check which names are a class's virtual table or type information."""
    first = tails.first
    is_class = first & np.uint64(0xFFFFFF) == number_of(b"_ZT")
    rows = np.flatnonzero(is_class)
    kind, begin = ((first[rows] >> np.uint64(8 * at)) & np.uint64(0xFF) for at in (3, 4))
    long = tails.length()[rows] >= WORD  # else the first word is not the name's
    is_class[rows] = _KINDS[kind.view(np.int64)] & _CLASSES[begin.view(np.int64)] & long
    return np.asarray(is_class)
