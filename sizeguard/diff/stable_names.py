"""Find the part of symbols' names that stays the same between builds, without suffixes and hashes.

f.cold  f.part.0  f.isra.0  f.constprop.1  f.lto_priv.0  f.llvm.4711  →  f
_ZN4core3fmt17h0123456789abcdefE  →  _ZN4core3fmtE      _RNvCs1a2b_4core3fmt  →  _RNvC4core3fmt
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.columns.text_hash import Hash, hash_texts, words_of
from sizeguard.columns.texts import Texts

_SUFFIX = rb"\.(?<!\A\.)(?:(?:cold|part|isra|constprop|lto_priv|llvm|clone)(?:\.\d+)*|localalias)"
# It begins with a dot, which is quick to find; a name cannot begin with a suffix.
_CLONE = re.compile(_SUFFIX + rb"(?:" + _SUFFIX + rb")*$")
_RUST_HASH = re.compile(rb"17h[0-9a-f]{16}E$")
_RUST_CRATE = re.compile(rb"(?<=C)s[0-9A-Za-z]*_(?=\d)")

# A function without a name is called by its address, which changes between builds.
_NAMELESS = b"(function at "

_WORD = 8  # bytes that are compared at once
_LAST = np.uint64(56)
_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_DOTS = np.uint64(ord(".")) * _ONES


def key_of(name: bytes) -> bytes:
    """Return the name without the additions that distinguish builds or clones."""
    if name.startswith(_NAMELESS):
        return _NAMELESS
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
    left = candidates
    while len(left):
        cut = tail.suffix(left)
        left = left[cut > 0]
        tail.end[left] -= cut[cut > 0]
    odd = candidates[tail.may_change(candidates)]
    return Texts(texts.buffer, texts.start, texts.start + tail.length()), odd


class _Tail:
    """The last bytes of names as eight-byte numbers, with the last byte highest."""

    def __init__(self, texts: Texts) -> None:
        self.words, self.start = words_of(texts)
        self.end = self.start + (texts.end - texts.start)

    def length(self) -> npt.NDArray[np.int64]:
        """Return the lengths of the names, without the suffixes removed so far."""
        return np.asarray(self.end - self.start, np.int64)

    def word(self, at: npt.NDArray[np.int64]) -> Hash:
        """Return the eight bytes at each place as a number."""
        found: Hash = self.words[np.clip(at, 0, len(self.words) - 1)].astype(np.uint64, copy=False)
        return found

    def may_change(self, which: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """Check for a dot where a suffix can be, the form of a hash, or Rust's v0 mangling."""
        start, end = self.start[which], self.end[which]
        last = self.word(end - _WORD)
        may = _has_dot(last) | (last == _number(b"calalias"))
        # A suffix of more than seven digits is a .llvm suffix.
        far = np.flatnonzero(_is_digit(last) & ~may)
        may[far] = _has_dot(self.word(end[far] - 2 * _WORD)) | _has_dot(
            self.word(end[far] - 3 * _WORD)
        )
        hashed = np.flatnonzero(last >> _LAST == ord("E"))
        hashed = hashed[self.word(end[hashed] - 20) & np.uint64(0xFFFFFF) == _number(b"17h")]
        may[hashed] = True
        first = self.word(start)
        may |= (first & np.uint64(0xFFFF) == _number(b"_R")) | (first == _number(_NAMELESS[:8]))
        return np.asarray(may & (end > start + 1), np.bool_)

    def suffix(self, which: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Return the length of each name's suffix; 0 without one, or if nothing precedes it."""
        end = self.end[which]
        last = self.word(end - _WORD)
        numbered = _is_digit(last)
        cut = np.zeros(len(which), np.int64)
        cut[last >> np.uint64(24) == _number(b".cold")] = len(".cold")
        six = (last >> np.uint64(8)) & np.uint64(0xFFFFFFFFFFFF)
        cut[numbered & ((six == _number(b".isra.")) | (six == _number(b".part.")))] = len(".isra.0")
        is_clone = numbered & (last & np.uint64(0xFFFFFFFFFFFFFF) == _number(b"stprop."))
        is_clone &= self.word(end - 12) == _number(b".constpr")
        cut[is_clone] = len(".constprop.0")
        is_local = (last == _number(b"calalias")) & (self.word(end - 11) == _number(b".localal"))
        cut[is_local] = len(".localalias")
        cut[self.start[which] + cut >= end] = 0
        return cut


def _number(text: bytes) -> np.uint64:
    """Return bytes as a number, little endian."""
    return np.uint64(int.from_bytes(text, "little"))


def _is_digit(words: Hash) -> npt.NDArray[np.bool_]:
    """Check which words end with a digit."""
    last = words >> _LAST
    found: npt.NDArray[np.bool_] = (last >= ord("0")) & (last <= ord("9"))
    return found


def _has_dot(words: Hash) -> npt.NDArray[np.bool_]:
    """Check which words contain a dot among their eight bytes (Mycroft's trick).

    It may report a byte above a dot by mistake, which only costs time.
    """
    x = words ^ _DOTS
    found: npt.NDArray[np.bool_] = ((x - _ONES) & ~x & _HIGH) != 0
    return found
