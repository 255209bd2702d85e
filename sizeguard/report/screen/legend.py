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
    entries = [f"{word}: {WORDS[word].short}" for word in known]
    yield ""
    for line in _lines([*entries, f"more: sizeguard explain {known[0]}"], style.width):
        yield style.dim(line)


def _lines(entries: Sequence[str], width: int) -> Iterator[str]:
    """Join entries, and begin a line before one that does not fit: people copy its command."""
    line = ""
    for entry in entries:
        joined = f"{line} · {entry}" if line else entry
        if line and len(joined) > width:
            yield from textwrap.wrap(line, width)
            joined = entry
        line = joined
    yield from textwrap.wrap(line, width)
