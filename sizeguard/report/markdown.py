"""Turns foreign text into GitHub's Markdown that shows it and does nothing: no markup, no link, no mention, no reference.

Escapes with backslashes would not do: GitHub looks for @names, #numbers and addresses in what is left after they are gone. In code it
does not look. So words of plain letters stay as they are, and what holds anything else becomes code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sizeguard.report.names import printable

_SAID = re.compile(r"[A-Za-z0-9]|^[–→·=+/]$")  # of --- and the like something else is made
_PLAIN = re.compile(r"[A-Za-z0-9,.;()'+–…→·/=%?!\"-]+")
# Words that GitHub makes links of although they hold nothing else: addresses, GH-12 and other trackers' keys, the ids of commits.
_LINKED = re.compile(r"www\.|[A-Za-z]+-\d|\b[0-9a-f]{7,40}\b", re.IGNORECASE)
# What begins a list, a rule or a heading where a sentence begins a line or an item.
_BLOCK = re.compile(r"\d+[.)]|[^A-Za-z0-9(]")
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
    """A sentence: its plain words, and as code what is none. Brackets around a name, and commas after it, belong to the sentence."""
    parts: list[_Word] = []
    for text_ in printable(text).split():
        word = _word(text_)
        if not parts and _BLOCK.match(text_) and not word.is_code:
            word = _Word(True, "", text_, "")
        before = parts[-1] if parts else None
        if before and before.is_code and word.is_code and not before.end and not word.begin:
            parts[-1] = _Word(True, before.begin, f"{before.core} {word.core}", word.end)
        else:
            parts.append(word)
    # Nothing would leave a bullet alone on its line, which makes a heading of the line before.
    return " ".join(f"{word.begin}{code(word.core) if word.is_code else word.core}{word.end}" for word in parts) or "–"


@dataclass(frozen=True, slots=True)
class _Word:
    is_code: bool
    begin: str
    core: str
    end: str


def _word(text: str) -> _Word:
    core = text.rstrip(",;.:")
    end = text[len(core) :]
    begin = ""
    if core.startswith("(") and core.endswith(")") and len(core) > 2:
        begin, core, end = "(", core[1:-1], f"){end}"
    elif core.startswith("(") and ")" not in core:
        begin, core = "(", core[1:]
    elif core.endswith(")") and "(" not in core:
        core, end = core[:-1], f"){end}"
    is_plain = bool(_PLAIN.fullmatch(core)) and not _LINKED.search(core) and bool(_SAID.search(core))
    return _Word(not is_plain, begin, core, end) if core else _Word(True, "", text, "")


def instruction(text: str) -> str:
    """Advice; from the command in it on, if there is one, all is one span to copy."""
    before, found, command = text.partition("sizeguard ")
    if not found:
        return prose(text)
    return f"{prose(before)} {code(found + command)}" if before.strip() else code(found + command)


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
