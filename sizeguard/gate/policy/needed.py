"""Check that an app loads no library that the base does not load, on the same machine.

The bytes of a new library ship, but no metric counts them. Libraries in the reviewed baseline are
accepted, so a new library is reviewed together with sizes.
"""

from __future__ import annotations

from dataclasses import replace

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.gate_result import MACHINE, NEEDED, NOT_RUN, Check
from sizeguard.gate.policy.checks import CheckedApp, SizeReference
from sizeguard.measurement.measurement import Measurement

METRIC = "needed"
RULE = "only libraries that the base needs"
SAME_MACHINE = "the format and machine of the base"


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
    """Fail if the image has another format, machine, class or byte order than the base's.

    Sizes of images for different machines cannot be compared. A baseline does not tell the machine.
    """
    now = _machine_of(subject.now)
    before = _machine_of(reference.measured) if reference.measured is not None else ""
    if not now or not before or now == before:
        return ()
    advice = f"build for {before}, or gate it as another target"
    return (
        replace(
            _check(subject, reference, FAIL, advice, 0, f"{MACHINE}/{now}"),
            kind=MACHINE,
            rule=f"{SAME_MACHINE}: {before}",
            pattern=MACHINE,
        ),
    )


def _machine_of(measured: Measurement) -> str:
    """Return an image's format and machine: `elf x86_64`; empty for a baseline."""
    if measured.analysis is None:
        return ""
    image = measured.analysis.image
    return f"{image.format} {image.arch}".strip()


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
