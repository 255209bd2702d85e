"""Sample results with consistent numbers, like those of a real gate."""

from __future__ import annotations

from dataclasses import replace

from sizeguard.claims.verdict import PASS
from sizeguard.gate.contradictions import recomputed
from sizeguard.gate.gate_result import ABSOLUTE, GROWTH, SIZE_KINDS, AppResult, Check, GateResult
from tests.support.services.local_hub import HEAD, MERGE

_TOTALS = ("load", "ram", "file")


def consistent(result: GateResult, head: str = MERGE) -> GateResult:
    """Set bases and rules so that they give each limit; verdicts and sizes stay."""
    made = replace(result, apps=tuple(map(_app, result.apps)), head=head or HEAD)
    return replace(made, verdict=recomputed(made))


def _app(app: AppResult) -> AppResult:
    return replace(app, checks=tuple(_check(app, check) for check in app.checks))


def _check(app: AppResult, check: Check) -> Check:
    if check.kind not in SIZE_KINDS:
        return check
    made = check
    if check.metric in _TOTALS and app.sizes:
        actual = getattr(app.sizes, check.metric)
        made = replace(made, actual=actual)
        if check.kind == GROWTH and app.old_sizes:
            made = replace(made, base=getattr(app.old_sizes, check.metric))
    if made.limit is None:
        return made
    if made.verdict == PASS:
        made = replace(made, limit=max(made.limit, made.actual))
    assert made.limit is not None
    base = 0 if made.kind == ABSOLUTE else made.base or 0
    beyond = made.limit - made.waived - made.moved - base
    if beyond < 0 and made.kind != ABSOLUTE and made.metric not in _TOTALS:
        made, beyond = replace(made, base=base + beyond), 0  # moved bytes are beyond the rule
    if beyond < 0:
        made, beyond = replace(made, limit=made.limit - beyond), 0
    assert made.limit is not None
    return replace(made, rule=f"{beyond}B", headroom=made.limit - made.actual)
