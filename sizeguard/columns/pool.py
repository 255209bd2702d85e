"""Collect strings into one pool, where each is stored once and has a number."""

from __future__ import annotations

import numpy as np

from sizeguard.columns.label import Label
from sizeguard.columns.texts import Int32, Texts


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
