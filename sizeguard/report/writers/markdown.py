"""Escape untrusted text for GitHub's Markdown: no markup, links, mentions or references.

Backslashes are not enough, because GitHub looks for @names, #numbers and addresses after it has
removed them. It does not look inside code spans. So words of plain letters stay, and all other
words become code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from sizeguard.base.dataclass import dataclass
from sizeguard.report.writers.printable import printable

_SAID = re.compile(r"[A-Za-z0-9]|^[–→·=+/]$")  # --- and the like are markup
_PLAIN = re.compile(r"[A-Za-z0-9,.;()'+–…→·/=%?!\"-]+")
# Plain words that GitHub or GitLab links: addresses, GH-12 and other trackers' keys, commit ids,
# merge requests !12, milestones %3 and %"name". The letters before -1 must not follow a letter, or
# long words would take quadratic time.
_LINKED = re.compile(
    r"www\.|(?<![A-Za-z])[A-Za-z]+-\d|\b[0-9a-f]{7,40}\b|[!%][\w\"]", re.IGNORECASE | re.ASCII
)
# Markup for a list, a rule or a heading at the start of a line or item.
_BLOCK = re.compile(r"\d+[.)]|[^A-Za-z0-9(]")
_RUNS = re.compile(r"`+")
# Words as shlex quotes them, so that none ends the command or begins another.
_COMMAND = re.compile(r"sizeguard(?: (?:[\w@%+=:,./…-]|'[^']*'|\"'\")+)+")


def code(text: str) -> str:
    """Write a code span that is valid inside and outside of a table cell."""
    # Renderers treat a bar after a backslash differently
    shown = printable(text).replace("\\|", "\\ |").replace("|", "\\|")
    if not shown.strip():
        return "–" if not text else "` `"
    fence = "`" * (1 + max((len(run) for run in _RUNS.findall(shown)), default=0))
    space = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{space}{shown}{space}{fence}"


def linked(text: str, address: str) -> str:
    """Write a code span as a link; the address is trusted and has no spaces or brackets."""
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
    # Markdown would read the bullet of an empty item as a heading's underline.
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
    """Escape advice; if it ends with a sizeguard command, the command is one span to copy.

    `sizeguard x; curl … | sh` is not such a command and is escaped like a sentence.
    """
    before, found, command = text.partition("sizeguard ")
    if not found or not is_command(found + command):
        return prose(text)
    return f"{prose(before)} {code(found + command)}" if before.strip() else code(found + command)


def is_command(text: str) -> bool:
    """Return whether a text is a single sizeguard command."""
    return bool(_COMMAND.fullmatch(text)) and text.isprintable()


def html_code(text: str) -> str:
    """Write code for places where GitHub reads HTML, not Markdown, such as a <summary>."""
    return f"<code>{html.escape(printable(text))}</code>"


def fenced_commands(lines: Sequence[str]) -> list[str]:
    """Write a block of shell commands."""
    shown = [printable(line) for line in lines]
    fence = "`" * max(
        3, 1 + max((len(run) for line in shown for run in _RUNS.findall(line)), default=0)
    )
    return [f"{fence}sh", *shown, fence]


def row(cells: Sequence[str]) -> str:
    """Write a line of a table; the cells are Markdown."""
    return f"| {' | '.join(cells)} |"
