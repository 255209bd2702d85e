"""Collect strings into one pool, where each is stored once and has a number."""

from __future__ import annotations

import numpy as np

from sizeguard.base.memory import release
from sizeguard.columns.label import Label
from sizeguard.columns.texts import Int, Int32, Texts

_BLOCK = 20  # log2 of the bytes of a block, which is copied whole if a text is in it: 1 MiB
_COPIED = 16 << 20  # bytes of a mapped file that are in memory at a time while they are copied


class Pool:
    """Strings by number; number 0 is the empty string."""

    def __init__(self) -> None:
        """Start with only the empty string."""
        self.texts = [""]
        self._numbers = {"": 0}

    def number(self, text: str) -> int:
        """Return a string's number; a string that the pool lacks gets a new one."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number

    def add(
        self, texts: Texts, before: str = "", after: str = "", used: Int32 | None = None
    ) -> Int32:
        """Return the numbers of texts with a prefix and a suffix; empty texts stay empty.

        used: indices into texts; other texts get number 0. The levels of libtorch_cpu.so's names
        share a table of 21,000 texts, and each level uses a part of it.
        """
        which = (
            np.arange(len(texts))
            if used is None
            else np.flatnonzero(np.bincount(used, minlength=len(texts)))
        )
        numbers = np.zeros(max(len(texts), 1), np.int32)
        raw = texts.take(which).all_raw()
        numbers[which] = [
            self.number(
                f"{before}{text.decode('utf-8', 'backslashreplace')}{after}" if text else ""
            )
            for text in raw
        ]
        return numbers

    def label(self, ids: Int32) -> Label:
        """Make a label whose ids are numbers of this pool."""
        return Label(ids.astype(np.int32, copy=False), Texts.of(self.texts))


def with_more(texts: Texts, more: list[str]) -> Texts:
    """Append strings to texts.

    Only the used parts of a large mapped file are copied: 76 of the 434 MB of libtorch_cpu.so, in
    0.07 s with the page faults.
    """
    extra = Texts.of(more)
    runs, shift = _used_runs(texts)
    # One copy; a second copy of libtorch_cpu.so's names would take 0.08 s.
    behind = sum(high - low for low, high in runs)
    buffer = np.empty(behind + len(extra.buffer), np.uint8)
    at = 0
    for low, high in runs:
        for start in range(low, high, _COPIED):
            part = texts.buffer[start : min(start + _COPIED, high)]
            buffer[at : at + len(part)] = part
            at += len(part)
            release(texts.buffer)
    buffer[behind:] = extra.buffer
    return Texts(
        buffer,
        np.concatenate([texts.start + shift, extra.start + behind]),
        np.concatenate([texts.end + shift, extra.end + behind]),
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
