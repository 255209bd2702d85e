"""Make names printable: demangled, without control characters, short enough."""

from __future__ import annotations

import re
from collections.abc import Iterable

NOTHING = "–"
_HASHES = re.compile("#(?=#)")
_COMMAND = re.compile(r"^((?:\s|\x1b\[\d+m)*)::")


def shown(level: str, text: str, width: int = 0) -> str:
    """Write a value of a level in one line of at most `width` characters; 0 for no limit."""
    if not text:
        return NOTHING
    # Imported here: it takes 4 ms, and error messages do not need it.
    from sizeguard.names.demangle import demangle

    name = printable(demangle(text) if level == "symbol" else text)
    if not width or len(name) <= width:
        return name
    if level == "symbol":
        from sizeguard.names.short import shortened

        name = shortened(name, width)
    return name if len(name) <= width else f"{name[: max(width - 1, 1)]}…"


def printable(text: str) -> str:
    """Escape characters that break a line, control a terminal or change the direction of text."""
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    )


def inert(line: str) -> str:
    """Disable commands that CI runners read in a job's log.

    Lines that begin with :: or contain ##[.

    Names can contain either.
    """
    line = _HASHES.sub("# ", line) if "##" in line else line
    return _COMMAND.sub(r"\1· ::", line) if "::" in line else line


def plain_text(lines: Iterable[str]) -> str:
    """Join lines with untrusted names, so that each stays one line without a runner's command."""
    return "\n".join(inert(printable(line)) for line in lines)


def middle(text: str, width: int) -> str:
    """Shorten a name to at most `width` characters by leaving out its middle.

    The end is the most specific part; the beginning shows the namespace.
    """
    name = printable(text)
    if len(name) <= width:
        return name
    begin = max((width - 1) // 4, 0)
    return f"{name[:begin]}…{name[len(name) - (width - 1 - begin) :]}"
