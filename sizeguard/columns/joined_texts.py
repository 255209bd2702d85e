"""Append strings to half a million others without a copy of their buffer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.base.memory import release
from sizeguard.columns.texts import Int, Texts

_BLOCK = 20  # log2 of the bytes of a block, which is copied whole if a text is in it: 1 MiB
_FEW = 10_000  # strings that are copied one by one, in 5 ms
_COPIED = 16 << 20  # bytes of a mapped file that are in memory at a time while they are copied


class JoinedTexts(Texts):
    """Texts of two tables; their buffers are joined when a caller asks for the one buffer.

    A report shows few names. Joining those of libtorch_cpu.so copies 76 of 434 MB, in 0.1 s with
    the page faults.
    """

    __slots__ = ("_first", "_joined", "_more", "_where")
    _first: Texts
    _more: Texts
    _where: Int | None
    _joined: Texts | None

    def __init__(self, first: Texts, more: Texts, where: Int | None = None) -> None:
        """Append `more` to `first`.

        where: the strings to select, as indices into both; None for all
        """
        object.__setattr__(self, "_first", first)
        object.__setattr__(self, "_more", more)
        object.__setattr__(self, "_where", where)
        object.__setattr__(self, "_joined", None)

    @property
    def buffer(self) -> npt.NDArray[np.uint8]:
        """The joined buffer."""
        return self._whole().buffer

    @property
    def start(self) -> Int:
        """Places in the joined buffer."""
        return self._whole().start

    @property
    def end(self) -> Int:
        """Places in the joined buffer."""
        return self._whole().end

    def __len__(self) -> int:
        """Return the number of strings."""
        return len(self._first) + len(self._more) if self._where is None else len(self._where)

    def lengths(self) -> Int:
        """Return the lengths of the strings in bytes."""
        length = np.concatenate([self._first.lengths(), self._more.lengths()])
        return length if self._where is None else length[self._where]

    def raw(self, index: int) -> bytes:
        """Return one string's bytes."""
        place = index if self._where is None else int(self._where[index])
        count = len(self._first)
        return self._first.raw(place) if place < count else self._more.raw(place - count)

    def take(self, indices: npt.ArrayLike) -> Texts:
        """Select strings by index, sharing the buffers."""
        where = np.asarray(indices, np.int64)
        where = where if self._where is None else self._where[where]
        return JoinedTexts(self._first, self._more, where)

    def all_raw(self) -> list[bytes]:
        """Return the bytes of all strings."""
        if self._where is None:
            return self._first.all_raw() + self._more.all_raw()
        count = len(self._first)
        is_first = self._where < count
        of_first = iter(self._first.take(self._where[is_first]).all_raw())
        of_more = iter(self._more.take(self._where[~is_first] - count).all_raw())
        return [next(of_first) if inside else next(of_more) for inside in is_first.tolist()]

    def tables(self) -> tuple[Texts, ...]:
        """Return the tables whose strings these are, in order."""
        if self._where is not None:
            return (self,)
        return (*self._first.tables(), *self._more.tables())

    def release(self) -> None:
        """Free the memory of a mapped file's pages that contain the strings."""
        self._first.release()
        self._more.release()

    def _whole(self) -> Texts:
        """Join the buffers, once."""
        found = self._joined
        if found is None:
            where = self._where
            if where is None:
                found = _copied(self._first, self._more)
            elif len(where) <= _FEW:
                found = Texts.of(self.all_raw())
            else:
                found = _copied(self._first, self._more).take(where)
            object.__setattr__(self, "_joined", found)
        return found


def _copied(texts: Texts, more: Texts) -> Texts:
    """Copy texts to one buffer; of a large mapped file, only the parts that contain texts."""
    runs, shift = _used_runs(texts)
    # One copy; a second copy of libtorch_cpu.so's names would take 0.08 s.
    behind = sum(high - low for low, high in runs)
    buffer = np.empty(behind + len(more.buffer), np.uint8)
    at = 0
    for low, high in runs:
        for start in range(low, high, _COPIED):
            part = texts.buffer[start : min(start + _COPIED, high)]
            buffer[at : at + len(part)] = part
            at += len(part)
            release(texts.buffer)
    buffer[behind:] = more.buffer
    return Texts(
        buffer,
        np.concatenate([texts.start + shift, more.start + behind]),
        np.concatenate([texts.end + shift, more.end + behind]),
    )


def _used_runs(texts: Texts) -> tuple[list[tuple[int, int]], Int | int]:
    """Return the parts of the buffer that contain texts, and the distance that each text moves."""
    blocks = (len(texts.buffer) >> _BLOCK) + 1
    if blocks <= 2 or not len(texts):
        return [(0, len(texts.buffer))], 0
    first = texts.start >> _BLOCK
    last = np.maximum(texts.end - 1, texts.start) >> _BLOCK
    begun = np.bincount(first, minlength=blocks + 1) - np.bincount(last + 1, minlength=blocks + 1)
    is_used = np.cumsum(begun)[:blocks] > 0
    moved = (np.cumsum(is_used) - 1 - np.arange(blocks)) << _BLOCK
    edges = np.flatnonzero(np.diff(is_used, prepend=False, append=False)) << _BLOCK
    # Blocks that a text reaches move together with the block where it begins.
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)), moved[first]
