"""Write a verification for a terminal: verdict, failures with their causes, counts."""

from __future__ import annotations

from collections.abc import Iterable

from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    NOT_GENERATED,
    OK,
    Verdict,
    Verification,
)
from sizeguard.names.globs import is_glob
from sizeguard.report.screen.fit import screen_lines
from sizeguard.report.verify.verify_words import headline, summary_rows
from sizeguard.report.writers.printable import printable
from sizeguard.report.writers.style import VERDICT_LOOKS, Style

SHOWN = 12  # claims to show that do not pass


def terminal_text(result: Verification, style: Style) -> str:
    """Write the verification. Names of symbols, objects and files are in most lines."""
    return "\n".join(screen_lines(_coloured(result, style), style))


def _coloured(result: Verification, style: Style) -> Iterable[str]:
    """Escape names, and colour the headline by its verdict."""
    first, *others = map(printable, _lines(result))
    yield style.paint(first, f"bold {VERDICT_LOOKS.get(result.verdict, '')}".strip())
    yield from others


def _lines(result: Verification) -> Iterable[str]:
    yield headline(result)
    yield ""
    for row in summary_rows(result):
        yield f"  {f'{row.result}  {row.how}' if row.how else row.result:<31} {row.counts}"
    if result.canary == OK:
        yield (
            f"  {'canary':<31} ok: the planted live symbol was found, the planted dead one was not"
        )
    for note in result.canary_notes:
        yield f"  {'canary':<31} BROKEN: {note}"
    # A misspelt pattern looks like one that nothing may match
    unmatched = [v.name for v in result.verdicts if v.how == NOT_GENERATED and is_glob(v.name)]
    if unmatched:
        yield f"  {'nothing is called':<31} {', '.join(unmatched)}"
    wrong = [v for kind in (FAIL, INCONCLUSIVE) for v in result.verdicts if v.verdict == kind]
    for verdict in wrong[:SHOWN]:
        yield ""
        yield from _wrong(verdict)
    if len(wrong) > SHOWN:
        yield ""
        yield f"  … {len(wrong) - SHOWN} more: --format csv lists all"
    if result.gaps:
        yield ""
        yield "missing evidence"
        yield from (f"  {gap}" for gap in result.gaps)


def _wrong(verdict: Verdict) -> Iterable[str]:
    if verdict.verdict == INCONCLUSIVE:
        yield f"not decided  {verdict.kind} {verdict.name} ({verdict.expect})"
    elif verdict.expect == ABSENT:
        size = f", {verdict.bytes:,} bytes" if verdict.bytes else ""
        yield f"still there  {verdict.kind} {verdict.name}{size}"
    else:
        yield f"lost  {verdict.kind} {verdict.name}"
    if verdict.cause:
        yield f"  {verdict.cause}"
    for depth, step in enumerate(verdict.chain):
        name = step.symbol or step.section
        yield f"    {f'→ {name}' if depth else name:<44} {step.object}"
    yield from (f"  {note}" for note in verdict.evidence[:3] if note != verdict.cause)
