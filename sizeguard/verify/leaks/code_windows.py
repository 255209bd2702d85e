"""Find machine code that two builds share, under any name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.distinct import distinct
from sizeguard.verify.evidence.code_search import Pattern

# Bytes of a window. A window must not contain a relocated field, which differs between builds, and
# the code of x86-64 has one every 15 to 25 bytes.
WINDOW = 12
_FEWEST_VALUES = 5  # a window with fewer distinct bytes is padding or a table of small numbers

Hashes = npt.NDArray[np.uint64]
Bool = npt.NDArray[np.bool_]
Int = npt.NDArray[np.int64]


def window_hashes(data: npt.NDArray[np.uint8]) -> Hashes:
    """Hash the WINDOW bytes from each position; the last WINDOW - 1 positions have no hash.

    Multiplies and mixes two overlapping words of 8 bytes, with odd constants of splitmix64 and
    xxHash. Equal windows have equal hashes; different ones rarely do.
    """
    count = len(data) - WINDOW + 1
    if count <= 0:
        return np.zeros(0, np.uint64)
    whole = np.ascontiguousarray(data)
    words: Hashes = np.lib.stride_tricks.as_strided(whole[:8].view("<u8"), (len(data) - 7,), (1,))
    first, last = words[:count], words[WINDOW - 8 : WINDOW - 8 + count]
    mixed = first * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed += last * np.uint64(0xC2B2AE3D27D4EB4F)
    return mixed


def covered(hits: Bool) -> int:
    """Count the bytes of the windows that begin where `hits` is true, overlaps once."""
    places = np.flatnonzero(hits)
    if not len(places):
        return 0
    return int(np.minimum(np.diff(places, append=places[-1] + WINDOW), WINDOW).sum())


def densest(hits: Bool, length: int) -> tuple[int, int]:
    """Find the range of `length` bytes with most bytes in windows that begin where `hits` is true.

    Returns the start of the range, and these bytes. A range is searched because equal bytes that
    are far apart are no sign of a copy.
    """
    places = np.flatnonzero(hits)
    if not len(places):
        return 0, 0
    gained = np.minimum(np.diff(places, append=places[-1] + WINDOW), WINDOW)
    total = np.concatenate([[0], np.cumsum(gained)])
    counts = total[np.searchsorted(places, places + length)] - total[:-1]
    best = int(counts.argmax())
    return int(places[best]), int(counts[best])


@dataclass(frozen=True, eq=False)
class CodeWindows:
    """Windows of functions, which are numbered from 0.

    names:    symbol of each function
    patterns: code of each function, with its relocated fields marked
    """

    names: Sequence[str]
    patterns: Sequence[Pattern]

    @cached_property
    def _start(self) -> Int:
        return np.cumsum([0, *(len(pattern.data) for pattern in self.patterns)], dtype=np.int64)

    @cached_property
    def data(self) -> npt.NDArray[np.uint8]:
        """The bytes of all functions, one after the other."""
        none = np.zeros(0, np.uint8)
        return np.concatenate([none, *(pattern.data for pattern in self.patterns)])

    @cached_property
    def _windows(self) -> tuple[Hashes, Bool]:
        """The hash of each window of `data`, and whether it can be searched for.

        That is so if it is inside of one function, has no relocated field, and is no padding.
        """
        if not self.patterns:
            return np.zeros(0, np.uint64), np.zeros(0, np.bool_)
        data = self.data
        fixed = np.concatenate([pattern.fixed for pattern in self.patterns])
        hashes = window_hashes(data)
        unfixed = np.concatenate([[0], np.cumsum(~fixed)])
        valid = unfixed[WINDOW:] == unfixed[: len(hashes)]
        owner = np.repeat(np.arange(len(self.patterns)), np.diff(self._start))
        valid &= owner[WINDOW - 1 :] == owner[: len(hashes)]
        return hashes, valid & _is_informative(data)

    @cached_property
    def hashes(self) -> Hashes:
        """The distinct hashes of all windows, sorted."""
        hashes, valid = self._windows
        return distinct(hashes[valid])

    def without(self, others: Sequence[CodeWindows]) -> Hashes:
        """Return the hashes that no other functions have, sorted."""
        own = self.hashes
        for other in others:
            own = own[~is_in(own, other.hashes)]
        return own

    def ranges_with(self, hits: Bool, fewest: int) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the number and range of each function with `fewest` bytes in windows of `hits`.

        hits: by byte of `data`, whether a wanted window begins there
        """
        counts = np.searchsorted(self._start, np.flatnonzero(hits), "right") - 1
        for number in distinct(counts).tolist():
            low, high = int(self._start[number]), int(self._start[number + 1])
            if covered(hits[low : max(high - WINDOW + 1, low)]) >= fewest:
                yield number, (low, high)

    def matches(self, found: Hashes, fewest: int) -> list[tuple[int, int]]:
        """Find functions with at least `fewest` bytes in windows of given hashes.

        Returns their numbers and bytes, the largest first, and only the largest one of each name.
        """
        hashes, valid = self._windows
        hits = valid & is_in(hashes, distinct(found))
        best: dict[str, tuple[int, int]] = {}
        for number, (low, high) in self.ranges_with(hits, fewest):
            count = covered(hits[low : max(high - WINDOW + 1, low)])
            if count > best.get(self.names[number], (0, 0))[1]:
                best[self.names[number]] = (number, count)
        return sorted(best.values(), key=lambda match: -match[1])

    def part_in(self, other: CodeWindows) -> float:
        """Return the fraction of the bytes in windows that other functions have, too."""
        hashes, valid = self._windows
        return covered(valid & is_in(hashes, other.hashes)) / max(covered(valid), 1)

    def hashes_of(self, number: int) -> Hashes:
        """Return the hashes of one function's windows, sorted."""
        hashes, valid = self._windows
        low, high = int(self._start[number]), int(self._start[number + 1])
        return distinct(hashes[low:high][valid[low:high]])


def is_in(hashes: Hashes, wanted: Hashes) -> Bool:
    """Return whether each hash is among sorted ones."""
    if not len(wanted):
        return np.zeros(len(hashes), np.bool_)
    at = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
    return np.asarray(wanted[at] == hashes, np.bool_)


def _is_informative(data: npt.NDArray[np.uint8]) -> Bool:
    """Return whether each window has enough changes from one byte to the next."""
    changes = np.concatenate([[0], np.cumsum(data[1:] != data[:-1])])
    count = max(len(data) - WINDOW + 1, 0)
    return np.asarray(changes[WINDOW - 1 :] - changes[:count] >= _FEWEST_VALUES - 1, np.bool_)
