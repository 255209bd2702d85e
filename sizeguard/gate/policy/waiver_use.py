"""Find the state of each waiver after the checks: used, unused, spent, exceeded or expired."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sizeguard.base.dataclass import dataclass
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.gate_result import Check
from sizeguard.gate.policy.terms_result import (
    EXCEEDED,
    EXPIRED,
    NONE_NEAR,
    SPENT,
    UNUSED,
    USED,
    Waiver,
    WaiverUse,
)


def in_force(waivers: Iterable[Waiver], today: datetime.date) -> list[Waiver]:
    """List the waivers that have not expired."""
    return [waiver for waiver in waivers if datetime.date.fromisoformat(waiver.expires) >= today]


def waived_bytes(waivers: Iterable[Waiver], app: str, target: str, metric: str) -> int:
    """Sum the bytes that waivers add to the limit of a metric, for an app and target."""
    return sum(
        w.bytes
        for w in waivers
        if w.metric == metric and w.app in ("", app) and w.target in ("", target)
    )


# More than 40 lines: a third of them say what the lists mean.
def waiver_uses(
    waivers: Sequence[Waiver],
    checks: Sequence[Check],
    reviewed: Sequence[Check],
    today: datetime.date,
    *,
    whole: bool,
    merged: bool = False,
) -> tuple[WaiverUse, ...]:
    """Find the state of each waiver.

    reviewed: growth since the baselines. Merged growth that was waived is in the merge base of
    every later change, but in no baseline yet. An entry in the file is spent once a baseline
    includes the bytes that it allows; without a baseline for these tools that is unknown. A trailer
    ends with its merge.
    whole:    all apps and targets were measured; otherwise a waiver that nothing needed may be for
              another one, which another job measures
    merged:   the change is on its target branch, where a trailer can no longer be removed
    """
    valid = in_force(waivers, today)
    left = {check.id: _Left(_over(check), check.waived) for check in checks}
    uses = []
    for waiver in waivers:
        if waiver not in valid:
            uses.append(_expired(waiver))
            continue
        concerned = [check for check in checks if _concerns(waiver, check)]
        used = _take(waiver, concerned, left)
        is_unknown = False
        if not used and waiver.is_trailer:
            is_unknown = merged
        elif not used:
            used = _take(waiver, [check for check in reviewed if _concerns(waiver, check)])
            is_unknown = not used and _is_unknown(waiver, reviewed)
        if is_unknown:
            uses.append(WaiverUse(waiver, UNUSED, PASS))
            continue
        uses.append(_use(waiver, concerned, used, whole))
    exceeded = {id_ for id_, each in left.items() if each.over > 0}
    return tuple(
        _exceed(use, [c for c in checks if c.id in exceeded and _concerns(use.waiver, c)])
        for use in uses
    )


def _is_unknown(waiver: Waiver, reviewed: Iterable[Check]) -> bool:
    """Return whether no baseline for these tools shows if the waived growth was merged."""
    return any(check.limit is None for check in reviewed if _concerns(waiver, check))


@dataclass(slots=True)
class _Left:
    """Bytes of a check that no waiver covers yet, and those that waivers may still cover."""

    over: int
    waived: int


def _take(waiver: Waiver, checks: Sequence[Check], left: Mapping[str, _Left] | None = None) -> int:
    """Return the largest number of the waiver's bytes that one check needs.

    left: what earlier waivers left of each check; this waiver's bytes are subtracted
    """
    used = 0
    for check in checks:
        rest = _Left(_over(check), waiver.bytes) if left is None else left[check.id]
        taken = min(max(rest.over, 0), waiver.bytes, rest.waived)
        used = max(used, taken)
        rest.over -= taken
        rest.waived -= taken
    return used


def _over(check: Check) -> int:
    """Return the bytes above the limit without waivers."""
    return 0 if check.limit is None else check.actual - (check.limit - check.waived)


def _concerns(waiver: Waiver, check: Check) -> bool:
    return (
        check.metric == waiver.metric
        and waiver.app in ("", check.app)
        and waiver.target in ("", check.target)
    )


def _use(waiver: Waiver, concerned: Sequence[Check], used: int, whole: bool) -> WaiverUse:
    if used:
        return WaiverUse(waiver, USED, PASS, used)
    if waiver.nearest:
        near = f"; nearest is {waiver.nearest}" if waiver.nearest != NONE_NEAR else ""
        unknown = f"{_what(waiver)}: nothing is called that{near}"
        return WaiverUse(waiver, UNUSED, INCONCLUSIVE, 0, unknown, _remove(waiver))
    if any(check.limit is None for check in concerned):
        return WaiverUse(
            waiver,
            UNUSED,
            INCONCLUSIVE,
            0,
            f"it is unknown whether {_what(waiver)} is needed: there is no base to compare with",
        )
    if not whole and (not concerned or not waiver.app or not waiver.target):
        return WaiverUse(waiver, UNUSED, PASS)
    why = (
        f"{waiver.metric} is within its limits without it"
        if concerned
        else f"no limit applies to {waiver.metric}"
    )
    return WaiverUse(waiver, SPENT, FAIL, 0, f"{_what(waiver)} is spent: {why}", _remove(waiver))


def _expired(waiver: Waiver) -> WaiverUse:
    message = f"{_what(waiver)} expired on {waiver.expires}: ask {waiver.owner}"
    return WaiverUse(
        waiver,
        EXPIRED,
        FAIL,
        0,
        message,
        f"revert the growth, or grant a new waiver; then {_remove(waiver)}",
    )


def _exceed(use: WaiverUse, beyond: Sequence[Check]) -> WaiverUse:
    if use.state != USED or not beyond:
        return use
    check = max(beyond, key=lambda each: -(each.headroom or 0))
    message = (
        f"{_what(use.waiver)} is exceeded: {check.metric} of {check.app} for {check.target} is "
        f"{-(check.headroom or 0):,} bytes above it"
    )
    return replace(
        use,
        state=EXCEEDED,
        verdict=FAIL,
        message=message,
        advice=f"shrink it, or ask {use.waiver.owner} for more",
    )


def _what(waiver: Waiver) -> str:
    of = f" of {waiver.app}" if waiver.app else ""
    return f"the waiver of {waiver.bytes:,} bytes for {waiver.metric}{of} ({waiver.source})"


def _remove(waiver: Waiver) -> str:
    return (
        f"remove the trailer from {waiver.source}: git rebase -i"
        if waiver.is_trailer
        else f"remove the entry at {waiver.source}"
    )
