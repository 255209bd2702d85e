"""Check that an app loads no new library, and is a file of the same machine and kind.

The bytes of a new library ship, but no metric counts them. Libraries in the reviewed baseline are
accepted, so a new library is reviewed together with sizes.
"""

from __future__ import annotations

from dataclasses import replace

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.gate_result import (
    MACHINE,
    NEEDED,
    NOT_RUN,
    SAME_KIND,
    SAME_MACHINE,
    Check,
)
from sizeguard.gate.policy.checks import CheckedApp, SizeReference

METRIC = "needed"
RULE = "only libraries that the base needs"


def needed_checks(subject: CheckedApp, reference: SizeReference, *, counts: bool) -> list[Check]:
    """Check the libraries that the app loads.

    Makes one check for each new library, or a single one that passes.

    counts: the policy limits growth, so a missing base is inconclusive
    """
    now = subject.now.needed
    if now is None:
        return [
            _check(
                subject,
                reference,
                INCONCLUSIVE,
                "the libraries that this image needs cannot be read",
            )
        ]
    if not now:
        return [_check(subject, reference, PASS, "", 0)]
    update = f"sizeguard baseline update --app {subject.app} --target {subject.target}"
    if reference.measured is None:
        verdict = reference.verdict if counts else NOT_RUN
        why = reference.why or f"{', '.join(now)} has no base to compare with; {update}"
        return [_check(subject, reference, verdict, why)]
    before = reference.measured.needed
    if before is None:
        why = f"the {reference.text} does not list needed libraries: {update}"
        return [_check(subject, reference, INCONCLUSIVE, why)]
    advice = f"remove the library, or review it: {update}"
    new = [name for name in now if name not in before]
    found = [_check(subject, reference, FAIL, advice, 0, f"{METRIC}/{name}") for name in new]
    return found or [_check(subject, reference, PASS, "", 0)]


def machine_checks(subject: CheckedApp, reference: SizeReference) -> tuple[Check, ...]:
    """Fail if the image has another format, machine, class, byte order or kind than the base's.

    Sizes of such images cannot be compared. An object in place of a program would seem to shrink.
    Baselines of older versions state neither machine nor kind; these are not compared.
    """
    now, before = subject.now, reference.measured
    if before is None:
        return ()
    if now.machine != before.machine and now.machine and before.machine:
        advice = f"build for {before.machine}, or gate it as another target"
        rule = f"{SAME_MACHINE}: {before.machine}"
        return (_of_image(subject, reference, now.machine, rule, advice),)
    if now.kind != before.kind and now.kind and before.kind:
        update = f"sizeguard baseline update --app {subject.app} --target {subject.target}"
        advice = f"build the base's kind of file, or review this one: {update}"
        rule = f"{SAME_KIND}: {before.kind}"
        return (_of_image(subject, reference, now.kind, rule, advice),)
    return ()


def _of_image(
    subject: CheckedApp, reference: SizeReference, name: str, rule: str, advice: str
) -> Check:
    """Make a failed check of the image's machine or kind."""
    found = _check(subject, reference, FAIL, advice, 0, f"{MACHINE}/{name}")
    return replace(found, kind=MACHINE, rule=rule, pattern=MACHINE)


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
