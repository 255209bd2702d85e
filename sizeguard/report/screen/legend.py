"""Explain the words of a table in one line below it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sizeguard.report.screen.glossary import WORDS
from sizeguard.report.writers.style import Style


def legend_lines(words: Sequence[str], style: Style) -> Iterator[str]:
    """Write the meaning of each word once, wrapped to the terminal."""
    known = [word for word in dict.fromkeys(words) if word in WORDS]
    if not known:
        return
    text = " · ".join(f"{word}: {WORDS[word].short}" for word in known)
    yield ""
    for line in textwrap.wrap(f"{text} · more: sizeguard explain {known[0]}", style.width):
        yield style.dim(line)
