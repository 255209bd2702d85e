"""Waived bytes that growth on the base has used, so that no later change uses them again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sizeguard.base.errors import InputError
from sizeguard.gate.gate_result import GROWTH
from sizeguard.gate.policy.baselines import FOLDER, WAIVERS
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, size_checks
from sizeguard.gate.policy.file_growth import file_check
from sizeguard.gate.policy.limits import Limit
from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.gate.policy.waiver_use import in_force, waived_bytes
from sizeguard.gate.policy.waivers import parse_waivers
from sizeguard.gate.reference.reference import MeasuredApp, reviewed_reference
from sizeguard.gate.request import Request


def waivers_at(request: Request, commit: str, waivers: Sequence[Waiver]) -> Sequence[Waiver]:
    """Return the waivers in force of a commit's file; those of the change if it cannot be read.

    waivers: those of the change; without any, the commit's do not matter
    """
    if not waivers or not commit:
        return ()
    try:
        text = request.history.text_at(commit, f"{FOLDER}/{WAIVERS}")
        if text is None:
            return ()
        found = parse_waivers(text, request.config, request.names)
    except InputError:
        return waivers
    return in_force(found, request.today)


def used_bytes(
    subject: MeasuredApp,
    merged: Collection[Waiver],
    limits: Collection[Limit],
    base: SizeReference,
    baseline: SizeReference,
) -> Callable[[str], int]:
    """Return a function from a metric to the bytes of its merged waivers that are used.

    These are the bytes by which the base exceeds the growth limits since the reviewed baseline.
    Without a baseline they are unknown, and none count.
    """
    app, target = subject.app.name, subject.target
    if not merged or base.measured is None or baseline.measured is None:
        return lambda _: 0
    then = CheckedApp(app, target, base.measured, lambda _: 0)
    growths = [limit for limit in limits if limit.kind == GROWTH]
    checks = (*size_checks(then, growths, baseline, {}), *file_check(then, growths, baseline, 0))
    over = {check.metric: -check.headroom for check in checks if check.headroom is not None}
    return lambda metric: max(
        0, min(over.get(metric, 0), waived_bytes(merged, app, target, metric))
    )


def used_before(
    request: Request,
    subject: MeasuredApp,
    commit: str,
    waivers: Sequence[Waiver],
    limits: Collection[Limit],
    base: SizeReference,
) -> Callable[[str], int]:
    """Return used_bytes for the waivers of the commit that growth is counted from.

    limits: those of the app and target
    """
    merged = waivers_at(request, commit, waivers)
    baseline = reviewed_reference(request.root, subject) if merged else SizeReference("", None)
    return used_bytes(subject, merged, limits, base, baseline)
