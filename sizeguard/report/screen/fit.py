"""Break lines that are wider than the terminal, so that the terminal does not break them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sizeguard.report.screen.cells import cells, fitting
from sizeguard.report.writers.style import Style, in_ascii

_ESCAPE = re.compile(r"\x1b\[[\d;]*m")
_INDENT = 6  # spaces before a continued line
# A command, or the trailer of a commit.
_COMMAND = re.compile(r"(?:^|  |→ |: )(?:(?:sizeguard|git|cmake|make) \S|Size-[A-Z][a-z]+: )")


def fit(lines: Iterable[str], style: Style, *, by_column: bool = False) -> Iterator[str]:
    """Break lines at spaces, or within a word that is longer than a line.

    Lines with a command are not broken, because people copy them.

    by_column: continue a row of a table below the column that is broken
    """
    for line in lines:
        if style.ascii:
            line = in_ascii(line)
        if style.full or cells(_ESCAPE.sub("", line)) <= style.width or _COMMAND.search(line):
            yield line
        else:
            yield from _broken(line, style.width, by_column=by_column)


def screen_lines(lines: Iterable[str], style: Style) -> Iterator[str]:
    """Break lines at the terminal's width, and escape what it cannot show."""
    return map(style.finish, fit(lines, style))


def wrapped(line: str, hidden: int, style: Style) -> Iterator[str]:
    """Break a sentence at the terminal's width.

    hidden: characters that take no room
    """
    width = style.width
    indent = "      "
    while cells(line) - hidden > width:
        most = fitting(line, width + hidden)
        end = line.rfind(" ", len(indent) + 20, most + 1)
        end = end if end > 0 else most
        yield line[:end]
        line, hidden = indent + line[end:].lstrip(), 0
    yield line


def _broken(line: str, width: int, *, by_column: bool) -> Iterator[str]:
    start, indent = 0, len(line) - len(line.lstrip(" "))
    indent = min(indent + 2 if indent else _INDENT, width // 3)
    if by_column:
        column = line.rfind("  ", indent, width) + 2
        indent = column if indent < column <= width // 2 else indent
    room = width
    while start < len(line):
        end, last_space = _end(line, start, room)
        # Do not break if that leaves a line almost empty.
        if end < len(line) and last_space > start + width // 4:
            end = last_space
        before = " " * indent if start else ""
        yield f"{before}{line[start:end].rstrip()}"
        start = end + len(line[end:]) - len(line[end:].lstrip(" "))
        room = width - indent


def _end(line: str, start: int, room: int) -> tuple[int, int]:
    """Find the end of a line of `room` cells, and its last space; escapes have no width."""
    at, shown, last_space = start, 0, -1
    while at < len(line):
        escape = _ESCAPE.match(line, at)
        if escape:
            at = escape.end()
            continue
        shown += cells(line[at])
        if shown > room:
            return at, at if line[at] == " " else last_space
        if line[at] == " ":
            last_space = at
        at += 1
    return at, last_space
