"""Turns a verification into a table: Markdown of what does not hold with the counts, CSV of every claim."""

from __future__ import annotations

from sizeguard.report.markdown import prose
from sizeguard.report.table import format_table
from sizeguard.report.verify_terminal import headline, summary_rows
from sizeguard.verify.result import PASS, Verification

COLUMNS = ("kind", "name", "expect", "verdict", "how", "bytes", "cause", "evidence")


def table_text(result: Verification, format_: str) -> str:
    if format_ == "csv":
        return format_table(COLUMNS, [_row(result, i) for i in range(len(result.verdicts))], "csv")
    parts = [f"**{prose(headline(result))}**", format_table(("", "how it went", "claims"), summary_rows(result), "markdown")]
    wrong = [i for i, verdict in enumerate(result.verdicts) if verdict.verdict != PASS]
    if wrong:
        parts.append(format_table(COLUMNS, [_row(result, i) for i in wrong], "markdown"))
    return "\n\n".join(parts)


def _row(result: Verification, index: int) -> tuple[str, ...]:
    v = result.verdicts[index]
    return (v.kind, v.name, v.expect, v.verdict, v.how, str(v.bytes), v.cause, "; ".join(v.evidence))
