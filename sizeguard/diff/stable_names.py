"""Find the part of symbols' names that stays the same between builds, without suffixes and hashes.

f.cold  f.part.0  f.isra.0  f.constprop.1  f.lto_priv.0  f.llvm.4711  →  f
_ZN4core3fmt17h0123456789abcdefE  →  _ZN4core3fmtE      _RNvCs1a2b_4core3fmt  →  _RNvC4core3fmt
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.columns.tails import WORD, Tails, is_digit, number_of
from sizeguard.columns.text_hash import Hash, hash_texts
from sizeguard.columns.texts import Texts

_SUFFIX = rb"\.(?<!\A\.)(?:(?:cold|part|isra|constprop|lto_priv|llvm|clone)(?:\.\d+)*|localalias)"
# It begins with a dot, which is quick to find; a name cannot begin with a suffix.
_CLONE = re.compile(_SUFFIX + rb"(?:" + _SUFFIX + rb")*$")
_RUST_HASH = re.compile(rb"17h[0-9a-f]{16}E$")
_RUST_CRATE = re.compile(rb"(?<=C)s[0-9A-Za-z]*_(?=\d)")

# A function without a name is called by its address, which changes between builds.
_NAMELESS = b"(function at "
_ALL_NAMELESS = b"(functions without a name)"

_LAST = np.uint64(56)
_MOST_DIGITS = 32  # digits and dots at an end that are skipped by column
# Of the words in _SUFFIX.
_LAST_LETTERS = tuple(
    number_of(letters)
    for letters in (b"cold", b"part", b"isra", b"prop", b"priv", b"llvm", b"lone", b"lias")
)
_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_DOTS = np.uint64(ord(".")) * _ONES


def key_of(name: bytes) -> bytes:
    """Return the name without the additions that distinguish builds or clones."""
    if name.startswith(_NAMELESS):
        return _ALL_NAMELESS
    if name.startswith(b"_R"):
        name = _RUST_CRATE.sub(b"", name)
    name = _CLONE.sub(b"", name)
    return _RUST_HASH.sub(b"E", name)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of names.

    heads: the names without the usual suffixes; odd: the keys of names with other additions, by
    index of the name.
    """

    heads: Texts
    odd: dict[int, bytes]

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self.heads)

    def raw(self, index: int) -> bytes:
        """Return one key's bytes."""
        return self.odd[index] if index in self.odd else self.heads.raw(index)

    def odd_texts(self) -> tuple[npt.NDArray[np.intp], Texts]:
        """Return the indices of the odd keys, and these keys as texts."""
        return np.fromiter(self.odd, np.intp, len(self.odd)), Texts.of(self.odd.values())


def keys(texts: Texts) -> Keys:
    """Return the keys of names."""
    heads, odd = _heads(texts)
    return Keys(heads, {i: key_of(heads.raw(i)) for i in odd.tolist()})


def hash_keys(texts: Texts, hashes: Hash | None = None) -> Hash:
    """Hash each name's key.

    hashes: of the names, if known, since most names are their own keys.
    """
    found, low = [np.zeros(0, np.uint64)], 0
    for table in texts.tables():
        high = low + len(table)
        known = None if hashes is None else hashes[low:high]
        found.append(hashes_of(keys(table), table, known))
        low = high
    return np.concatenate(found)


def hashes_of(found: Keys, texts: Texts, hashes: Hash | None = None) -> Hash:
    """Hash the keys of texts that keys() returned; hashes: of the texts, if known."""
    if hashes is None:
        result = hash_texts(found.heads)
    else:
        result = hashes.copy()
        shorter = np.flatnonzero(found.heads.end < texts.end)
        result[shorter] = hash_texts(found.heads.take(shorter))
    which, odd = found.odd_texts()
    result[which] = hash_texts(odd)
    return result


def _heads(texts: Texts) -> tuple[Texts, npt.NDArray[np.intp]]:
    """Return the names without the usual suffixes, and the indices of names to check one by one.

    Of 465,766 names in libtorch_cpu.so 97,387 have a suffix, nearly all .cold, .isra.0, .part.0 or
    .constprop.0. By column they take 10 ms, one by one 300 ms.
    """
    tail = _Tail(texts)
    candidates = np.flatnonzero(tail.may_change(np.arange(len(texts))))
    tail.cut_suffixes(candidates)
    odd = candidates[tail.may_change(candidates)]
    return Texts(texts.buffer, texts.start, texts.start + tail.length()), odd


class _Tail(Tails):
    """The last bytes of names, and which of them may have other additions."""

    def may_change(self, which: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Check for a dot where a suffix can be, the form of a hash, or Rust's v0 mangling."""
        start, end, last = self.start[which], self.end[which], self.last[which]
        may = _has_dot(last) | (last == number_of(b"calalias"))
        # A suffix of more than seven digits is a .llvm suffix.
        far = np.flatnonzero(is_digit(last) & ~may)
        may[far] = _has_dot(self.word(end[far] - 2 * WORD)) | _has_dot(
            self.word(end[far] - 3 * WORD)
        )
        dotted = np.flatnonzero(may)
        may[dotted] = self._ends_like_clone(start[dotted], end[dotted])
        hashed = np.flatnonzero(last >> _LAST == ord("E"))
        hashed = hashed[self.word(end[hashed] - 20) & np.uint64(0xFFFFFF) == number_of(b"17h")]
        may[hashed] = True
        first = self.first[which]
        may |= (first & np.uint64(0xFFFF) == number_of(b"_R")) | (first == number_of(_NAMELESS[:8]))
        return np.asarray(may & (end > start + 1), np.bool_)

    def _ends_like_clone(
        self, start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Check for the last letters of a clone's suffix before the digits and dots of an end.

        Of the names of libtorch_cpu.so, 15,190 have another end with a dot, such as ._omp_fn.3;
        to check each by a regular expression took 0.04 s.
        """
        end = end.copy()
        left = np.arange(len(end))
        for _ in range(_MOST_DIGITS):
            last = self.word(end[left] - WORD)
            is_number = is_digit(last) | (last >> _LAST == ord("."))
            left = left[is_number & (end[left] > start[left])]
            end[left] -= 1
        letters = self.word(end - WORD) >> np.uint64(32)
        found = end < WORD  # before the buffer's first word there is nothing to read
        for known in _LAST_LETTERS:  # np.isin sorts: five times as long
            found |= letters == known
        found[left] = True
        return np.asarray(found, np.bool_)


def _has_dot(words: Hash) -> npt.NDArray[np.bool_]:
    """Check which words contain a dot among their eight bytes (Mycroft's trick).

    It may report a byte above a dot by mistake, which only costs time.
    """
    x = words ^ _DOTS
    found: npt.NDArray[np.bool_] = ((x - _ONES) & ~x & _HIGH) != 0
    return found
