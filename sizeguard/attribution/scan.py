"""Turns half a million mangled names into the identifiers that stand in them, all at once.

A mangled identifier is its length and its text (6native). Digits before a letter are found with numpy, the text behind them
is looked up in a dictionary by its first bytes. 0.35 s for the 512,542 names of libtorch_cpu.so; a regex a name takes 2.2 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.formats.texts import Int, Texts

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

CHUNK = 1 << 22  # bytes of names at a time: of smaller pieces two threads wait for each other, 0.46 s against 0.37
FRONT = 8  # bytes of zeros before a chunk, so that the word before its first one can be read
PAD = 72  # bytes of zeros behind a chunk, so that words at its end can be read
_UNDERSCORE, _LOCAL = ord("_"), ord("L")
_TABLE_BITS = 16
_LAMBDA = np.uint64(int.from_bytes(b"UlvE", "little"))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Names that lie side by side: name first + i is text[start[i]:end[i]]; text has FRONT zeros before and PAD behind it.

    offset: where the text lies in the names' buffer.
    """

    text: Bytes
    offset: int
    first: int
    start: Int
    end: Int

    def name_at(self, position: Int) -> Int:
        """The name that holds each position, -1 if none does."""
        index = np.searchsorted(self.start, position, side="right") - 1
        return np.where((index >= 0) & (position < self.end[index]), index + self.first, -1)

    def words(self) -> Words:
        """The eight bytes from each position on, as one number."""
        return np.ndarray((len(self.text) - 7,), "<u8", self.text, strides=(1,))

    def identifiers(self) -> Int:
        """Positions of digits before a letter or an underscore: the last digit of each identifier's length.

        Digits of a lambda's number (UlvE17_), of a substitution (S12_) and of a parameter (T0_) are none.
        """
        text = self.text
        is_digit = (text - np.uint8(48)) < 10
        is_last = ((text[1:] | np.uint8(32)) - np.uint8(97)) < 26
        is_last &= is_digit[:-1]
        # Digits before an underscore: nearly all are S1_ or T0_, the others are looked at one by one.
        is_open = text[1:] == _UNDERSCORE
        is_open &= is_digit[:-1]
        is_open[1:] &= (text[:-2] - np.uint8(ord("S"))) >= 2
        last = np.flatnonzero(is_open)
        before = last
        for _ in range(3):
            before = before - is_digit[before]
        word = self.words()[np.maximum(before - 3, 0)] & np.uint64(0xFFFFFFFF)
        first = text[before]
        is_number = (first == ord("S")) | (first == ord("T")) | (word == _LAMBDA)
        is_last[last[~is_number]] = True
        return np.flatnonzero(is_last)


@dataclass(frozen=True, slots=True)
class Distinct:
    """Names without repetitions, in the order of their texts in the buffer; name i of the caller is names[inverse[i]]."""

    names: Texts
    inverse: Int


def distinct(names: Texts) -> Distinct:
    """Names that begin at one place are one name."""
    order = np.argsort(names.start, kind="stable")
    start = names.start[order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (start[1:] != start[:-1]) | (names.end[order][1:] != names.end[order][:-1])
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(is_new) - 1
    return Distinct(names.take(order[is_new]), inverse)


def chunks(names: Texts) -> Iterator[Chunk]:
    """All names, in pieces. They are sorted by their place and lie apart."""
    i = 0
    while i < len(names):
        low = int(names.start[i])
        j = max(i + 1, int(np.searchsorted(names.start, low + CHUNK)))
        high = int(names.end[j - 1])
        text = np.zeros(FRONT + high - low + PAD, np.uint8)
        text[FRONT:-PAD] = names.buffer[low:high]
        low -= FRONT
        yield Chunk(text, low, i, names.start[i:j] - low, names.end[i:j] - low)
        i = j


def side_by_side(names: Texts) -> Texts:
    """The same names, each with its own copy, a zero behind it."""
    length = names.end - names.start + 1
    end = np.cumsum(length)
    return Texts(np.frombuffer(b"".join(raw + b"\0" for raw in names.all_raw()), np.uint8), end - length, end - 1)


class Dictionary:
    """Finds known identifiers among many: by the first bytes in a table, then by all bytes."""

    def __init__(self, identifiers: Sequence[str]) -> None:
        self.identifiers = tuple(identifiers)
        raw = [identifier.encode() for identifier in identifiers]
        if any(not 2 <= len(text) < 64 for text in raw):
            raise ValueError("an identifier of 2 to 63 characters is expected")
        self._length = np.array([len(text) for text in raw], np.int64)
        self._tens = np.array([48 + len(text) // 10 if len(text) > 9 else 0 for text in raw], np.uint8)
        self._words = np.array([np.frombuffer(text.ljust(64, b"\0"), "<u8") for text in raw], np.uint64).reshape(-1, 8)
        self._next = np.full(len(raw), -1, np.int32)
        self._table = np.full(1 << _TABLE_BITS, -1, np.int32)
        keys = np.array([int.from_bytes(f"{len(text) % 10}".encode() + text[:2], "little") for text in raw], np.uint64)
        for i, slot in enumerate(_slot(keys).tolist()):
            self._next[i] = self._table[slot]
            self._table[slot] = i

    def find(self, chunk: Chunk, candidates: Int) -> tuple[Int, Int]:
        """Of the candidates (last digits of lengths): positions of those that are known, and which they are."""
        words = chunk.words()
        entry = self._table[_slot(words[candidates] & np.uint64(0xFFFFFF))]
        found: list[Int] = []
        known: list[Int] = []
        live = np.flatnonzero(entry >= 0)
        where, entry = candidates[live], entry[live]
        while len(where):
            ok = self._equal(chunk.text, words, where, entry)
            found.append(where[ok])
            known.append(entry[ok].astype(np.int64))
            following = self._next[entry]
            more = following >= 0
            where, entry = where[more], following[more]
        if not found:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        position, which = np.concatenate(found), np.concatenate(known)
        order = np.argsort(position, kind="stable")
        return position[order], which[order]

    def lengths(self, which: Int) -> Int:
        return self._length[which]

    def _equal(self, text: Bytes, words: Words, where: Int, entry: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        length = self._length[entry]
        tens = self._tens[entry]
        ok = (tens == 0) | (text[np.maximum(where - 1, 0)] == tens)
        for k in range(8):
            rows = np.flatnonzero(ok & (length > 8 * k))  # fewer with each word
            if not len(rows):
                break
            here = np.minimum(where[rows] + 1 + 8 * k, len(words) - 1)
            ok[rows] = (words[here] & mask(length[rows] - 8 * k)) == self._words[entry[rows], k]
        # 6native inside 16native_layer: more text follows, so this is no identifier of its own.
        before, after = text[np.maximum(where - 1, 0)], text[np.minimum(where + 1 + length, len(text) - 1)]
        has_more_digits = (tens == 0) & ((before - np.uint8(48)) < 10)
        goes_on = ((after - np.uint8(97)) < 26) | (after == _UNDERSCORE)
        result: npt.NDArray[np.bool_] = ok & ~(has_more_digits & goes_on)
        return result


_MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)


def mask(count: Int) -> Words:
    """The low `count` bytes of a word: none for 0 and less, all for 8 and more."""
    found: Words = _MASKS.take(count, mode="clip")
    return found


def _slot(keys: Words) -> npt.NDArray[np.uint64]:
    return (keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - _TABLE_BITS)


def following(chunk: Chunk, position: Int) -> tuple[Int, Int]:
    """Start and length of the identifier whose length stands at each position, after an L of internal linkage; start -1 if none does."""
    text = chunk.text
    last = len(text) - 4
    at = np.minimum(position, last)
    at = np.minimum(at + (text[at] == _LOCAL), last)
    length = np.zeros(len(at), np.int64)
    is_going = np.ones(len(at), bool)
    for k in range(3):
        digit = text[np.minimum(at, last)] - np.uint8(48)
        is_going &= (digit < 10) & ((digit > 0) | (k > 0))
        length = np.where(is_going, length * 10 + digit, length)
        at = at + is_going
    first = text[np.minimum(at, last)]
    is_letter = (((first | np.uint8(32)) - np.uint8(97)) < 26) | (first == _UNDERSCORE)
    ok = (length > 0) & is_letter & (at + length <= len(text) - PAD)
    return np.where(ok, at, -1), length


def fingerprint(text: str) -> np.uint64:
    """The hash of one text."""
    (chunk,) = chunks(Texts.of([text]))
    return np.uint64(fingerprints(chunk, chunk.start, chunk.end - chunk.start)[0])


def fingerprints(chunk: Chunk, start: Int, length: Int) -> Words:
    """A 64-bit hash of each text: of its length and all its bytes, eight at a time.

    torchgen's wrappers differ in the middle of 80 characters: ..NonFunctional__upsample_nearest_exact1d_backward, and ..exact2d_backward.
    """
    words = chunk.words()
    result = length.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    live = np.flatnonzero(length > 0)
    done = 0
    while len(live):
        word = words[np.minimum(start[live] + done, len(words) - 1)] & mask(length[live] - done)
        mixed = (result[live] ^ word) * np.uint64(0xFF51AFD7ED558CCD)
        result[live] = mixed ^ (mixed >> np.uint64(32))
        done += 8
        live = live[length[live] > done]
    return result
