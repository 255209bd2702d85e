"""Write a verification as a table.

CSV lists every claim; Markdown has the counts and the claims that do not pass.
"""

from __future__ import annotations

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, Verification
from sizeguard.report.verify.verify_words import headline, summary_rows
from sizeguard.report.writers.markdown import prose
from sizeguard.report.writers.table import format_table

COLUMNS = ("kind", "name", "expect", "verdict", "how", "bytes", "cause", "evidence")


def table_text(result: Verification, format_: str) -> str:
    """Write the table; format_ is csv or markdown."""
    if format_ == "csv":
        return format_table(COLUMNS, [_row(result, i) for i in range(len(result.verdicts))], "csv")
    parts = [
        f"**{prose(headline(result))}**",
        format_table(("", "result", "claims"), summary_rows(result), "markdown"),
    ]
    wrong = [
        i for i, verdict in enumerate(result.verdicts) if verdict.verdict in (FAIL, INCONCLUSIVE)
    ]
    if wrong:
        parts.append(format_table(COLUMNS, [_row(result, i) for i in wrong], "markdown"))
    notes = [*(f"canary BROKEN: {note}" for note in result.canary_notes)]
    notes += [f"missing evidence: {gap}" for gap in result.gaps]
    parts += ["\n".join(f"- {prose(note)}" for note in notes)] if notes else []
    return "\n\n".join(parts)


def _row(result: Verification, index: int) -> tuple[str, ...]:
    v = result.verdicts[index]
    return (
        v.kind,
        v.name,
        v.expect,
        v.verdict,
        v.how,
        str(v.bytes),
        v.cause,
        "; ".join(v.evidence),
    )
