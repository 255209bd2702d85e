"""Turns limits and measurements into checks: each number against its limit, with waivers counted in.

A limit of an exact metric holds before one of a family (operator/*), then one for fewer apps and targets before one for more. Limits of
other kinds hold beside each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sizeguard.gate.config import Limit
from sizeguard.gate.measure import Measurement
from sizeguard.gate.metric_names import is_family, matches, split_metric
from sizeguard.gate.result import ABSOLUTE, CREEP, FAIL, GROWTH, INCONCLUSIVE, PASS, Check, Offer


@dataclass(frozen=True, slots=True)
class Reference:
    """What growth or creep is counted from. measured: None if it could not be, and why says so and what to do."""

    text: str
    measured: Measurement | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is checked: an app for a target, with its sizes now. waived: bytes of a metric that waivers allow."""

    app: str
    target: str
    now: Measurement
    waived: Callable[[str], int]


def size_checks(subject: Subject, limits: Iterable[Limit], growth: Reference, creep: Mapping[str, Reference]) -> tuple[Check, ...]:
    """creep: references by what limits say after `since`."""
    mine = [limit for limit in limits if limit.app in ("", subject.app) and limit.target in ("", subject.target)]
    chosen: dict[tuple[str, str, str], Limit] = {}
    for limit in mine:
        reference = creep.get(limit.since) if limit.kind == CREEP else growth
        for metric in _metrics(limit, subject.now, reference.measured if reference else None):
            key = (metric, limit.kind, limit.since)
            if key not in chosen or _precedence(limit) > _precedence(chosen[key]):
                chosen[key] = limit
    order = {limit.metric: i for i, limit in enumerate(mine)}
    checks = []
    for (metric, kind, since), limit in sorted(chosen.items(), key=lambda item: (order[item[1].metric], item[0])):
        reference = Reference("", None) if kind == ABSOLUTE else creep[since] if kind == CREEP else growth
        checks.append(_check(subject, metric, limit, reference))
    return tuple(checks)


def _precedence(limit: Limit) -> tuple[bool, int, int]:
    return not is_family(limit.metric), bool(limit.app) + bool(limit.target), len(limit.metric)


def _metrics(limit: Limit, *measured: Measurement | None) -> Sequence[str]:
    """What the limit is of: itself, or each thing of that name in any of the images."""
    if not is_family(limit.metric):
        return [limit.metric]
    level = split_metric(limit.metric)[0]
    paths = {f"{level}/{name}" for each in measured if each is not None for name in each.names(level)}
    return sorted(path for path in paths if matches(limit.metric, path))


def _check(subject: Subject, metric: str, limit: Limit, reference: Reference) -> Check:
    actual = subject.now.value(metric)
    base = reference.measured.value(metric) if reference.measured else None
    check = Check(
        id=f"{subject.app}/{subject.target}/{metric}/{limit.kind}{f'-{limit.since}' if limit.since else ''}",
        app=subject.app,
        target=subject.target,
        metric=metric,
        limit=None,
        actual=actual or 0,
        headroom=None,
        verdict=INCONCLUSIVE,
        rule=limit.allowance.text,
        advice=reference.why,
        kind=limit.kind,
        base=base,
        since=reference.text,
        place=limit.place,
        pattern=limit.metric,
    )
    if actual is None:
        return replace(check, advice=f"{metric} was not measured: the image for {subject.target} does not tell it")
    if limit.kind == ABSOLUTE:
        bound = limit.allowance.bytes
    elif base is None:
        return check if reference.why else replace(check, advice=f"the {reference.text} does not say {metric}: sizeguard baseline update")
    else:
        bound = base + limit.allowance.allowed(base)
    waived = subject.waived(metric)
    verdict = PASS if actual <= bound + waived else FAIL
    return replace(check, limit=bound + waived, headroom=bound + waived - actual, verdict=verdict, waived=waived, advice="")


# An offer is made if a limit leaves this much: less would be offered and taken back with every change.
_WIDE_PERCENT, _WIDE_BYTES = 10, 1024


def offers(checks: Iterable[Check]) -> tuple[Offer, ...]:
    """Limits that what is there has left far below: absolute ones with much room, growth limits whose base was much larger."""
    found = []
    for check in checks:
        if check.verdict != PASS or check.limit is None or check.waived:
            continue
        wide = max(check.limit * _WIDE_PERCENT // 100, _WIDE_BYTES)
        if check.kind == ABSOLUTE and check.limit - check.actual > wide:
            offered = check.actual + max(check.actual // 100, 256)
            offered += -offered % 256
            if offered < check.limit:
                found.append(Offer(check.metric, check.limit, offered, check.actual, check.place, f"{check.metric}: {offered:,} B"))
        elif check.kind == GROWTH and check.base is not None and check.base - check.actual > max(check.limit - check.base, _WIDE_BYTES):
            text = f"sizeguard baseline update --app {check.app} --target {check.target}"
            found.append(Offer(check.metric, check.limit, check.actual + check.limit - check.base, check.actual, check.place, text))
    return tuple(found)
