"""Make text printable: demangled, without control characters, short enough; and counts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sizeguard.report.screen.cells import cells, first_cells, last_cells

NOTHING = "–"
_HASHES = re.compile(r"#(?=#+[\w\[])")  # ##[error], ##vso[, ##teamcity[; not the ASCII bars
_COMMAND = re.compile(r"^((?:\s|\x1b\[\d+m)*)::")


def shown(level: str, text: str, width: int = 0) -> str:
    """Write a value of a level in one line of at most `width` cells; 0 for no limit."""
    if not text:
        return NOTHING
    # Imported here: it takes 4 ms, and error messages do not need it.
    from sizeguard.names.demangle import demangle

    name = printable(demangle(text) if level == "symbol" else text)
    if not width or cells(name) <= width:
        return name
    if level == "symbol":
        from sizeguard.names.short import shortened

        name = shortened(name, width)
    return middle(name, width)


def printable(text: str) -> str:
    """Escape characters that break a line, control a terminal or change the direction of text."""
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    )


def inert(line: str) -> str:
    """Disable commands that CI runners read in a job's log.

    Lines that begin with :: or contain ##[ or ##vso[.

    Names can contain either.
    """
    line = _HASHES.sub("# ", line) if "##" in line else line
    return _COMMAND.sub(r"\1· ::", line) if "::" in line else line


def plain_text(lines: Iterable[str]) -> str:
    """Join lines with untrusted names, so that each stays one line without a runner's command."""
    return "\n".join(inert(printable(line)) for line in lines)


def at_most(text: str, most: int) -> str:
    """Cut a text to at most `most` characters; … ends a cut text."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def counted(count: int, one: str, many: str = "") -> str:
    """Write a count with its noun in the right number."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def middle(text: str, width: int) -> str:
    """Shorten a name to at most `width` cells by leaving out its middle.

    The end is the most specific part; the beginning shows the namespace.
    """
    name = printable(text)
    if cells(name) <= width:
        return name
    begin = first_cells(name, max((width - 1) // 4, 0))
    return f"{begin}…{last_cells(name, width - 1 - cells(begin))}"
