"""Lines of the gate's report on a terminal: marks, wrapped sentences, findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.report.gate.findings.gate_findings import MARKS, GateFinding
from sizeguard.report.screen.fit import wrapped
from sizeguard.report.screen.grid import RowName, distinct
from sizeguard.report.writers.printable import printable
from sizeguard.report.writers.style import Style

COLOURS = {PASS: 32, FAIL: 31, INCONCLUSIVE: 33}


_NARROW = 60  # columns


def mark(verdict: str, style: Style) -> str:
    """Return the mark of a verdict, in its colour."""
    plain = MARKS[verdict]
    if style.colour and verdict in COLOURS:
        return f"\x1b[{COLOURS[verdict]}m{plain}\x1b[0m"
    return plain


def numbers(values: Iterable[str], style: Style) -> str:
    """Write the three numbers of a row, aligned at the right; narrow terminals have less room."""
    width = number_width(style) - 1
    return "".join(f" {value:>{width}}" for value in values)


def number_width(style: Style) -> int:
    """Return the cells of a number and the space before it."""
    return 12 if style.full or style.width >= _NARROW else 9


def short_names(names: Iterable[str], width: int, style: Style) -> list[str]:
    """Shorten names to at most `width` characters, unless nothing is cut; different ones differ."""
    rows = [RowName(printable(name)) for name in names]
    return [row.text for row in rows] if style.full else distinct(rows, width)


def marked(verdict: str, text: str, style: Style) -> Iterator[str]:
    """Write a wrapped sentence after the mark of a verdict."""
    shown = mark(verdict, style)
    yield from wrapped(f"  {shown} {printable(text)}", len(shown) - 1, style)


def finding_lines(finding: GateFinding, style: Style) -> Iterator[str]:
    """Write a finding with its place and its advice."""
    place = f"  {finding.place}" if finding.place else ""
    yield from marked(finding.verdict, finding.message + place, style)
    yield from advice_line(finding, style)


def advice_line(finding: GateFinding, style: Style) -> Iterator[str]:
    """Write advice uncut: it may be a command to copy."""
    if finding.advice:
        yield f"    → {printable(finding.advice)}"
