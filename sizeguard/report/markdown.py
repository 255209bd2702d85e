"""Turns foreign text into GitHub's Markdown that shows it and does nothing: no markup, no link, no mention, no reference.

Escapes with backslashes would not do: GitHub looks for @names, #numbers and addresses in what is left after they are gone. In code it
does not look. So words of plain letters stay as they are, and what holds anything else becomes code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from sizeguard.report.names import printable

_PLAIN = re.compile(r"[A-Za-z0-9,.;()'+–…→·/=%?!\"-]+")
# Words that GitHub makes links of although they hold nothing else: addresses, GH-12 and other trackers' keys, the ids of commits.
_LINKED = re.compile(r"www\.|[A-Za-z]+-\d|\b[0-9a-f]{7,40}\b", re.IGNORECASE)
_RUNS = re.compile(r"`+")


def code(text: str) -> str:
    """One span of code, in a cell of a table or outside of it."""
    shown = printable(text).replace("\\|", "\\ |").replace("|", "\\|")  # a bar after a backslash is read in two ways
    if not shown.strip():
        return "–" if not text else "` `"
    fence = "`" * (1 + max((len(run) for run in _RUNS.findall(shown)), default=0))
    space = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}"


def prose(text: str) -> str:
    """A sentence: its plain words, and as code what is none."""
    parts: list[tuple[bool, str]] = []
    for word in printable(text).split():
        plain = bool(_PLAIN.fullmatch(word)) and not _LINKED.search(word)
        if parts and not plain and not parts[-1][0]:
            parts[-1] = (False, f"{parts[-1][1]} {word}")
        else:
            parts.append((plain, word))
    return " ".join(word if plain else _trailing(word) for plain, word in parts)


def _trailing(word: str) -> str:
    """Commas and the like at the end of a name belong to the sentence."""
    name = word.rstrip(",;.:")
    end = word[len(name) :]
    return f"{code(name)}{end}" if name else code(word)


def html_code(text: str) -> str:
    """Code where GitHub reads HTML, not Markdown: in the line of a <summary>."""
    return f"<code>{html.escape(printable(text))}</code>"


def fenced(lines: Sequence[str], language: str = "sh") -> list[str]:
    """A block of code; a line each."""
    shown = [printable(line) for line in lines]
    fence = "`" * max(3, 1 + max((len(run) for line in shown for run in _RUNS.findall(line)), default=0))
    return [f"{fence}{language}", *shown, fence]


def row(cells: Sequence[str]) -> str:
    """A line of a table; the cells are Markdown."""
    return f"| {' | '.join(cells)} |"
