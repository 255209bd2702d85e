"""Turns texts, a value a row, into labels that keep each text once."""

from __future__ import annotations

import numpy as np

from sizeguard.attribution.analysis import Label
from sizeguard.formats.texts import Texts
from sizeguard.ledger.ledger import Int32

# Up to so many bytes of names are copied, so that others can stand beside them.
MOST_COPIED = 64 << 20


class Pool:
    """Texts by number; 0 is the empty one."""

    def __init__(self) -> None:
        self.texts = [""]
        self._numbers = {"": 0}

    def number(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number

    def add(self, texts: Texts, before: str = "", after: str = "", used: Int32 | None = None) -> Int32:
        """The numbers of texts with something before and behind them; empty ones stay empty. used: ids, those without one get none.

        The levels of libtorch_cpu.so's names share a table of 21,000 texts, of which each has a part.
        """
        which = np.arange(len(texts)) if used is None else np.flatnonzero(np.bincount(used, minlength=len(texts)))
        numbers = np.zeros(max(len(texts), 1), np.int32)
        raw = texts.take(which).all_raw()
        numbers[which] = [self.number(f"{before}{text.decode('utf-8', 'backslashreplace')}{after}" if text else "") for text in raw]
        return numbers

    def label(self, ids: Int32) -> Label:
        return Label(ids.astype(np.int32, copy=False), Texts.of(self.texts))


def with_more(texts: Texts, more: list[str]) -> Texts:
    """The texts and some more behind them. Beside names in a large mapped file only those that its end holds, too; others are empty."""
    extra = Texts.of(more)
    start, end = extra.start + len(texts.buffer), extra.end + len(texts.buffer)
    if len(texts.buffer) <= MOST_COPIED:
        return Texts(np.concatenate([texts.buffer, extra.buffer]), np.concatenate([texts.start, start]), np.concatenate([texts.end, end]))
    tail = max(len(texts.buffer) - (1 << 20), 0)
    data = texts.buffer[tail:].tobytes()
    found = [data.rfind(b"\0" + text.encode() + b"\0") for text in more]  # names of sections lie at the end
    start = np.array([at + 1 + tail if at >= 0 else 0 for at in found], np.int64)
    end = start + np.array([len(text.encode()) if at >= 0 else 0 for at, text in zip(found, more, strict=True)], np.int64)
    return Texts(texts.buffer, np.concatenate([texts.start, start]), np.concatenate([texts.end, end]))
