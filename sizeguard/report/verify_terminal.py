"""Turns a verification into what a person reads: verdict, what does not hold and why, counts."""

from __future__ import annotations

from collections.abc import Iterable

from sizeguard.verify.result import ABSENT, FAIL, INCONCLUSIVE, OK, PASS, PRESENT, Verdict, Verification

SHOWN = 12  # claims that do not hold

_GONE = {
    "not_generated": "not generated",
    "removed_by_compiler": "removed by the compiler",
    "discarded_by_linker": "discarded by the linker",
}
# One and many of a kind, where they are not the kind's name with an s.
_NAMES = {
    "dtype": ("dtype branch", "dtype branches"),
    "class": ("class", "classes"),
    "initializer": ("start-up function", "start-up functions"),
}


def terminal_text(result: Verification) -> str:
    return "\n".join(_lines(result))


def headline(result: Verification) -> str:
    gone = sum(v.expect == ABSENT for v in result.verdicts)
    there = sum(v.expect == PRESENT for v in result.verdicts)
    what = f"{result.subject} against {result.against}: {gone} {'thing' if gone == 1 else 'things'} must be gone, {there} must be there"
    if result.canary != OK:
        return f"BROKEN  {what}; no verdict can be trusted"
    if result.verdict == FAIL:
        size = sum(v.bytes for v in result.verdicts if v.verdict == FAIL and v.expect == ABSENT)
        return f"FAIL  {what}; {result.count(FAIL)} do not hold" + (f" ({size:,} bytes)" if size else "")
    if result.verdict == INCONCLUSIVE:
        return f"INCONCLUSIVE  {what}; {result.count(INCONCLUSIVE)} cannot be decided"
    return f"PASS  {what}"


def summary_rows(result: Verification) -> list[tuple[str, str, str]]:
    """(gone or there, how, how many of what)"""
    rows = []
    for how, text in _GONE.items():
        kinds = [v.kind for v in result.verdicts if v.verdict == PASS and v.expect == ABSENT and v.how == how]
        if kinds:
            rows.append(("gone", text, _counted(kinds)))
    there = [v.kind for v in result.verdicts if v.verdict == PASS and v.expect == PRESENT]
    if there:
        rows.append(("there", "", _counted(there)))
    for verdict, expect, text in ((FAIL, ABSENT, "still there"), (FAIL, PRESENT, "lost"), (INCONCLUSIVE, "", "not decided")):
        kinds = [v.kind for v in result.verdicts if v.verdict == verdict and expect in ("", v.expect)]
        if kinds:
            rows.append((text, "", _counted(kinds)))
    return rows


def _counted(kinds: Iterable[str]) -> str:
    """148 operators, 15 kernels"""
    counts: dict[str, int] = {}
    for kind in kinds:
        counts[kind] = counts.get(kind, 0) + 1
    return ", ".join(f"{n} {_NAMES.get(kind, (kind, kind + 's'))[n != 1]}" for kind, n in counts.items())


def _lines(result: Verification) -> Iterable[str]:
    yield headline(result)
    yield ""
    for what, how, count in summary_rows(result):
        yield f"  {what + '  ' + how if how else what:<31} {count}"
    if result.canary == OK:
        yield f"  {'canary':<31} ok: what was planted as live was found, what was planted as dead was not"
    for note in result.canary_notes:
        yield f"  {'canary':<31} BROKEN: {note}"
    wrong = [v for v in result.verdicts if v.verdict == FAIL] or [v for v in result.verdicts if v.verdict == INCONCLUSIVE]
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
        yield f"    {'→ ' if depth else ''}{name:<44} {step.object}"
    yield from (f"  {note}" for note in verdict.evidence[:3])
