"""Escape foreign text for GitHub's Markdown: no markup, no link, no mention, no reference.

Backslashes are not enough: GitHub looks for @names, #numbers and addresses after it has removed
them. It does not look inside code. So words of plain letters stay as they are, and all others
become code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sizeguard.report.writers.printable import printable

_SAID = re.compile(r"[A-Za-z0-9]|^[–→·=+/]$")  # --- and the like are markup
_PLAIN = re.compile(r"[A-Za-z0-9,.;()'+–…→·/=%?!\"-]+")
# Plain words that GitHub makes links: addresses, GH-12 and other trackers' keys, ids of commits.
# The letters before -1 begin where no letter is before them: else long words take quadratic time.
_LINKED = re.compile(r"www\.|(?<![A-Za-z])[A-Za-z]+-\d|\b[0-9a-f]{7,40}\b", re.IGNORECASE)
# Begins a list, a rule or a heading, if a sentence begins with it at the start of a line or item.
_BLOCK = re.compile(r"\d+[.)]|[^A-Za-z0-9(]")
_RUNS = re.compile(r"`+")
# Words as shlex quotes them: nothing in them ends the command or begins another.
_COMMAND = re.compile(r"sizeguard(?: (?:[\w@%+=:,./…-]|'[^']*'|\"'\")+)+")


def code(text: str) -> str:
    """Write one span of code, valid inside and outside a table's cell."""
    # Renderers disagree on a bar after a backslash
    shown = printable(text).replace("\\|", "\\ |").replace("|", "\\|")
    if not shown.strip():
        return "–" if not text else "` `"
    fence = "`" * (1 + max((len(run) for run in _RUNS.findall(shown)), default=0))
    space = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}"


def linked(text: str, address: str) -> str:
    """Write code that is a link; the address is ours, without spaces and brackets."""
    return f"[{code(text)}]({address})"


def prose(text: str) -> str:
    """Escape a sentence: plain words stay, all others become code.

    Brackets around a name, and commas after it, belong to the sentence.
    """
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
    # An empty item would leave its bullet alone, and Markdown reads that as a heading's underline.
    return (
        " ".join(
            f"{word.begin}{code(word.core) if word.is_code else word.core}{word.end}"
            for word in parts
        )
        or "–"
    )


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a sentence, with the punctuation before and after it."""

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
    is_plain = (
        bool(_PLAIN.fullmatch(core)) and not _LINKED.search(core) and bool(_SAID.search(core))
    )
    return _Word(not is_plain, begin, core, end) if core else _Word(True, "", text, "")


def instruction(text: str) -> str:
    """Escape advice; if it ends with one command of ours, that is one span to copy.

    `sizeguard x; curl … | sh` is none: it stays words of a sentence.
    """
    before, found, command = text.partition("sizeguard ")
    if not found or not is_command(found + command):
        return prose(text)
    return f"{prose(before)} {code(found + command)}" if before.strip() else code(found + command)


def is_command(text: str) -> bool:
    """Return whether a text is one command of ours and nothing else."""
    return bool(_COMMAND.fullmatch(text)) and text.isprintable()


def html_code(text: str) -> str:
    """Write code for places where GitHub reads HTML, not Markdown: the line of a <summary>."""
    return f"<code>{html.escape(printable(text))}</code>"


def fenced(lines: Sequence[str], language: str = "sh") -> list[str]:
    """Write a block of code."""
    shown = [printable(line) for line in lines]
    fence = "`" * max(
        3, 1 + max((len(run) for line in shown for run in _RUNS.findall(line)), default=0)
    )
    return [f"{fence}{language}", *shown, fence]


def row(cells: Sequence[str]) -> str:
    """Write a line of a table; the cells are Markdown."""
    return f"| {' | '.join(cells)} |"
