"""Sentences about a verification that its formats share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    OK,
    PASS,
    PRESENT,
    Verdict,
    Verification,
)
from sizeguard.report.writers.printable import counted

_GONE = {
    "not_generated": "not generated",
    "removed_by_compiler": "removed by the compiler",
    "discarded_by_linker": "discarded by the linker",
}
# Singular and plural of kinds with an irregular plural.
_NAMES = {
    "dtype": ("dtype branch", "dtype branches"),
    "class": ("class", "classes"),
    "initializer": ("start-up function", "start-up functions"),
}


def claim_message(verdict: Verdict) -> str:
    """Describe a claim that does not pass."""
    others = {INCONCLUSIVE: "is undecided", NOT_APPLICABLE: "does not apply"}
    if what := others.get(verdict.verdict):
        why = "; ".join(verdict.evidence[:2])
        text = f"{verdict.kind} {verdict.name} ({verdict.expect}) {what}"
        return f"{text}: {why}" if why else text
    what = "is still present" if verdict.expect == ABSENT else "is absent"
    size = f" ({verdict.bytes} bytes)" if verdict.bytes else ""
    return f"{verdict.kind} {verdict.name} {what}{size}" + (
        f": {verdict.cause}" if verdict.cause else ""
    )


def headline(result: Verification) -> str:
    """Sum up the verification."""
    applying = [v for v in result.verdicts if v.verdict != NOT_APPLICABLE]
    gone = sum(v.expect == ABSENT for v in applying)
    there = sum(v.expect == PRESENT for v in applying)
    what = (
        f"{result.subject} against {result.against}: {counted(gone, 'thing')} "
        f"must be absent, {there} must be present"
    )
    if result.canary != OK:
        return f"BROKEN  {what}; no verdict can be trusted"
    if result.verdict == FAIL:
        size = sum(v.bytes for v in result.verdicts if v.verdict == FAIL and v.expect == ABSENT)
        count = result.count(FAIL)
        wrong = f"{count} {'does' if count == 1 else 'do'} not hold"
        return f"FAIL  {what}; {wrong}" + (f" ({size:,} bytes)" if size else "")
    if result.verdict == INCONCLUSIVE:
        return f"INCONCLUSIVE  {what}; {result.count(INCONCLUSIVE)} cannot be decided"
    return f"PASS  {what}"


class SummaryRow(NamedTuple):
    """Claims with one result. how: the reason, or empty; counts: by kind."""

    result: str
    how: str
    counts: str


def summary_rows(result: Verification) -> list[SummaryRow]:
    """Count claims by result."""
    rows = []
    for how, text in _GONE.items():
        kinds = [
            v.kind
            for v in result.verdicts
            if v.verdict == PASS and v.expect == ABSENT and v.how == how
        ]
        if kinds:
            rows.append(SummaryRow("gone", text, _counted(kinds)))
    there = [v.kind for v in result.verdicts if v.verdict == PASS and v.expect == PRESENT]
    if there:
        rows.append(SummaryRow("there", "", _counted(there)))
    for verdict, expect, text in (
        (FAIL, ABSENT, "still there"),
        (FAIL, PRESENT, "lost"),
        (INCONCLUSIVE, "", "not decided"),
        (NOT_APPLICABLE, "", "does not apply"),
    ):
        kinds = [
            v.kind for v in result.verdicts if v.verdict == verdict and expect in ("", v.expect)
        ]
        if kinds:
            rows.append(SummaryRow(text, "", _counted(kinds)))
    return rows


def _counted(kinds: Iterable[str]) -> str:
    """Count by kind: 148 operators, 15 kernels."""
    counts: dict[str, int] = {}
    for kind in kinds:
        counts[kind] = counts.get(kind, 0) + 1
    return ", ".join(
        f"{n} {_NAMES.get(kind, (kind, kind + 's'))[n != 1]}" for kind, n in counts.items()
    )
