"""Texts as in a string table."""

from __future__ import annotations

from collections.abc import Iterable

from sizeguard.columns.texts import Texts


def side_by_side(names: Iterable[str | bytes]) -> Texts:
    """Copy names to a new buffer, each with a zero after it."""
    texts = Texts.of([each for name in names for each in (name, b"\0")])
    return texts.take(range(0, len(texts), 2))
