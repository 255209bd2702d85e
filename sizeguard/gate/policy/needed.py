"""Check that an app loads no library that the base does not load.

Bytes of a library that nobody counts are bytes that ship. What the reviewed baseline lists is
accepted; so a new library is reviewed where sizes are.
"""

from __future__ import annotations

from sizeguard.gate.gate_result import FAIL, INCONCLUSIVE, NEEDED, NOT_RUN, PASS, Check
from sizeguard.gate.policy.checks import CheckedApp, SizeReference

METRIC = "needed"
RULE = "only libraries that the base needs"


def needed_checks(subject: CheckedApp, reference: SizeReference, *, counts: bool) -> list[Check]:
    """Check what the loader takes with the app: a check for each new library, or one in all.

    counts: the policy limits growth, so there has to be something to compare with
    """
    now = subject.now.needed
    if now is None:
        return [_check(subject, reference, INCONCLUSIVE, "this image does not tell what it needs")]
    if not now:
        return [_check(subject, reference, PASS, "", 0)]
    update = f"sizeguard baseline update --app {subject.app} --target {subject.target}"
    if reference.measured is None:
        verdict = reference.verdict if counts else NOT_RUN
        why = reference.why or f"nothing to compare {', '.join(now)} with; {update}"
        return [_check(subject, reference, verdict, why)]
    before = reference.measured.needed
    if before is None:
        why = f"the {reference.text} does not say what is needed: {update}"
        return [_check(subject, reference, INCONCLUSIVE, why)]
    advice = f"take it back, or review it: {update}"
    new = [name for name in now if name not in before]
    found = [_check(subject, reference, FAIL, advice, 0, f"{METRIC}/{name}") for name in new]
    return found or [_check(subject, reference, PASS, "", 0)]


def _check(
    subject: CheckedApp,
    reference: SizeReference,
    verdict: str,
    advice: str,
    limit: int | None = None,
    metric: str = METRIC,
) -> Check:
    actual = int(verdict == FAIL)
    return Check(
        id=f"{subject.app}/{subject.target}/{metric}",
        app=subject.app,
        target=subject.target,
        metric=metric,
        limit=limit,
        actual=actual,
        headroom=None if limit is None else limit - actual,
        verdict=verdict,
        rule=RULE,
        advice=advice,
        kind=NEEDED,
        since=reference.text,
        pattern=METRIC,
    )
