"""Collect strings into one pool, where each is stored once and has a number."""

from __future__ import annotations

import numpy as np

from sizeguard.columns.label import Label
from sizeguard.columns.texts import Int32, Texts

# The most bytes of names that are copied to append others to them.
MOST_COPIED = 64 << 20


class Pool:
    """Strings by number; number 0 is the empty string."""

    def __init__(self) -> None:
        """Start with the empty string alone."""
        self.texts = [""]
        self._numbers = {"": 0}

    def number(self, text: str) -> int:
        """Return a string's number, a new one if the pool lacks it."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number

    def add(
        self, texts: Texts, before: str = "", after: str = "", used: Int32 | None = None
    ) -> Int32:
        """Return the numbers of texts with something put before and behind; empty ones stay empty.

        used: indices into texts; texts that it does not contain get number 0. The levels of
        libtorch_cpu.so's names share a table of 21,000 texts, and each level uses a part of it.
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

    If the buffer is a large mapped file, a string can be added only if the file's last MiB holds
    it; otherwise it becomes empty.
    """
    extra = Texts.of(more)
    start, end = extra.start + len(texts.buffer), extra.end + len(texts.buffer)
    if len(texts.buffer) <= MOST_COPIED:
        return Texts(
            np.concatenate([texts.buffer, extra.buffer]),
            np.concatenate([texts.start, start]),
            np.concatenate([texts.end, end]),
        )
    tail = max(len(texts.buffer) - (1 << 20), 0)
    data = texts.buffer[tail:].tobytes()
    # Names of sections are at the end of a file.
    found = [data.rfind(b"\0" + text.encode() + b"\0") for text in more]
    start = np.array([at + 1 + tail if at >= 0 else 0 for at in found], np.int64)
    end = start + np.array(
        [len(text.encode()) if at >= 0 else 0 for at, text in zip(found, more, strict=True)],
        np.int64,
    )
    return Texts(
        texts.buffer, np.concatenate([texts.start, start]), np.concatenate([texts.end, end])
    )
