"""Check each measured number against its limit and waivers.

A limit for an exact metric wins over one for a family (operator/*); then a limit for fewer apps and
targets wins over one for more. Limits of different kinds apply side by side.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from sizeguard.attribution.size_report import CORE, UNATTRIBUTED
from sizeguard.base.dataclass import dataclass
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, MATCHES_NOTHING, PASS
from sizeguard.gate.gate_result import ABSOLUTE, CREEP, GROWTH, Check, Offer
from sizeguard.gate.policy.limits import Limit
from sizeguard.measurement.measurement import OF_LINK, OF_NAMES, Measurement
from sizeguard.measurement.metric_kinds import JOINED, OBJECTS, OPEN, SOURCES
from sizeguard.measurement.metric_names import is_family, matches, split_metric
from sizeguard.names.find_operators import find_operators
from sizeguard.names.globs import is_glob


@dataclass(frozen=True, slots=True)
class SizeReference:
    """The measurement that growth or creep is counted from.

    text:     its source, as shown
    measured: None if it could not be measured
    why:      the reason if it could not be measured, and the next step
    verdict:  of the checks without a reference: INCONCLUSIVE, or NOT_RUN if there cannot be one yet
    """

    text: str
    measured: Measurement | None
    why: str = ""
    verdict: str = INCONCLUSIVE


@dataclass(frozen=True, slots=True)
class CheckedApp:
    """An app for a target, with its present sizes.

    waived: returns the bytes that waivers add to a metric's limit
    moved: returns an operator's bytes that belonged to another operator in an earlier measurement
    used: returns the waived bytes that growth on the base has used
    """

    app: str
    target: str
    now: Measurement
    waived: Callable[[str], int]
    moved: Callable[[Measurement, str], int] = lambda _, __: 0
    used: Callable[[str], int] = lambda _: 0

    def waived_growth(self, metric: str) -> int:
        """Return the bytes that waivers add to a limit of growth."""
        return max(0, self.waived(metric) - self.used(metric))


def size_checks(
    subject: CheckedApp,
    limits: Iterable[Limit],
    growth: SizeReference,
    creep: Mapping[str, SizeReference],
    full: Measurement | None = None,
) -> tuple[Check, ...]:
    """Check the subject against the limits that apply to it.

    creep: references by the text after `since` in limits
    full: the full build's measurement, whose names are also known
    """
    mine = [limit for limit in limits if limit.applies_to(subject.app, subject.target)]
    chosen: dict[tuple[str, str, str], Limit] = {}
    for limit in mine:
        reference = creep[limit.since] if limit.kind == CREEP else growth
        for metric in _metrics(limit, subject.now, reference.measured):
            key = (metric, limit.kind, limit.since)
            if key not in chosen or precedence(limit) > precedence(chosen[key]):
                chosen[key] = limit
    order = {limit.metric: i for i, limit in enumerate(mine)}
    checks = []
    for (metric, kind, since), limit in sorted(
        chosen.items(), key=lambda item: (order[item[1].metric], item[0])
    ):
        reference = (
            SizeReference("", None)
            if kind == ABSOLUTE
            else creep[since]
            if kind == CREEP
            else growth
        )
        check = _check(subject, metric, limit, reference)
        check = _known(check, limit, subject.now, growth.measured, full)
        check = _with_nameless(check, subject.now, growth.measured)
        checks.append(_with_any_overload(check, limit, subject.now, growth.measured))
    return tuple(checks)


_NO_OBJECTS = "the image names no {}; a linker map names them"


def precedence(limit: Limit) -> tuple[bool, int, int]:
    """Rank a limit among the matching limits of its kind; the highest rank wins."""
    return not is_family(limit.metric), bool(limit.app) + bool(limit.target), len(limit.metric)


def _is_listed(limit: Limit) -> bool:
    """Return whether the sources of a runtime list the names of the limit's level."""
    return not limit.only_images_know and split_metric(limit.metric)[0] not in OPEN


def _metrics(limit: Limit, now: Measurement, base: Measurement | None) -> Sequence[str]:
    """List the metrics that the limit applies to: itself, or each name of its family.

    A family without a name, or of an unmeasured level, is a metric, too: its check tells that.
    """
    measured = (now, base)
    level, name = split_metric(limit.metric)
    if not is_family(limit.metric):
        if level != "operator":
            return [limit.metric]
        # An operator name without an overload means all overloads.
        names = {each for one in measured if one is not None for each in one.names(level)}
        return [f"{level}/{each}" for each in sorted(find_operators(name, names))] or [limit.metric]
    paths = {
        f"{level}/{name}" for each in measured if each is not None for name in each.names(level)
    }
    found = sorted(path for path in paths if matches(limit.metric, path))
    # An app need not have what the sources of its runtime list, but its names must be known.
    is_listed = _is_listed(limit) and now.value(limit.metric) is not None
    return found if found or is_listed else [limit.metric]


def _check(subject: CheckedApp, metric: str, limit: Limit, reference: SizeReference) -> Check:
    since = f"-{limit.since}" if limit.since else ""
    # Of a name in .bss alone the memory counts, or any maximum would hold. A baseline has no zeros,
    # so growth counts loaded bytes.
    zeros = subject.now.zeros.get(metric, 0) if limit.kind == ABSOLUTE else 0
    undecided = Check(
        id=f"{subject.app}/{subject.target}/{metric}/{limit.kind}{since}",
        app=subject.app,
        target=subject.target,
        metric=metric,
        limit=None,
        actual=subject.now.value(metric) or zeros,
        headroom=None,
        verdict=reference.verdict,
        rule=limit.allowance.text,
        advice=reference.why,
        kind=limit.kind,
        base=reference.measured.value(metric) if reference.measured else None,
        since=reference.text,
        place=limit.place,
        pattern=limit.metric,
    )
    return _judged(undecided, subject, limit, reference)


def _judged(check: Check, subject: CheckedApp, limit: Limit, reference: SizeReference) -> Check:
    """Decide a check, unless its metric was not measured or there is nothing to compare with."""
    if subject.now.value(check.metric) is None:
        return replace(check, advice=_unmeasured(check), verdict=INCONCLUSIVE)
    if limit.kind == ABSOLUTE and limit.allowance.milli_percent:
        size = subject.now.region_size(split_metric(check.metric)[1])
        if not size:
            missing = (
                f"the size of {check.metric} is unknown, so {limit.allowance.text} of it is, too"
            )
            return replace(check, advice=missing, verdict=INCONCLUSIVE)
        bound = size * limit.allowance.milli_percent // 100_000
    elif limit.kind == ABSOLUTE:
        bound = limit.allowance.bytes
    elif check.base is None:
        missing = f"the {check.since} has no {check.metric}; run sizeguard baseline update"
        return replace(check, advice=check.advice or missing)
    else:
        bound = check.base + limit.allowance.allowed(check.base)
    moved = 0
    level, name = split_metric(check.metric)
    if level == "operator" and reference.measured is not None and check.actual > bound:
        moved = min(subject.moved(reference.measured, name), check.actual - bound)
        bound += moved
    # A waiver of growth does not raise a cap that is met without it.
    is_held = limit.kind == ABSOLUTE and check.actual <= bound
    waives = subject.waived_growth if limit.kind == GROWTH else subject.waived
    waived = 0 if is_held else waives(check.metric)
    most = bound + waived
    return replace(
        check,
        limit=most,
        headroom=most - check.actual,
        verdict=PASS if check.actual <= most else FAIL,
        waived=waived,
        moved=moved,
        advice="",
    )


def _unmeasured(check: Check) -> str:
    level = split_metric(check.metric)[0]
    if level in OF_LINK:
        return _NO_OBJECTS.format(level)
    return f"{check.metric} was not measured: it cannot be read from the image for {check.target}"


def _known(check: Check, limit: Limit, now: Measurement, *others: Measurement | None) -> Check:
    """Make a check inconclusive if no image has its name, which may be misspelt."""
    level, name = split_metric(check.metric)
    is_known = any(each is not None and each.knows(check.metric) for each in (now, *others))
    if check.verdict == INCONCLUSIVE and check.metric == limit.metric and is_family(limit.metric):
        return check
    if is_known or limit.unknown_ok or (_is_listed(limit) and limit.nearest is None):
        return check
    if is_family(check.metric) or (level == "symbol" and is_glob(name)):
        finding = f"{check.metric} {MATCHES_NOTHING}"
        has_names = level == "symbol" or any(map(_is_name, now.names(level)))
        if near := now.unmatched.get(name, "") if level == "symbol" else "":
            finding += f"; with more scopes it matches {near}"
        elif limit.kind == ABSOLUTE and not limit.allowance.bytes and has_names:
            return replace(check, advice=finding)
    elif level in OF_LINK and not any(now.names(level)):
        finding = _NO_OBJECTS.format(level)
    else:
        near = limit.nearest or _nearest(level, name, now)
        finding = f"unknown name: nothing is called {name}{f'; nearest is {near}' if near else ''}"
    advice = f"{finding}; write `unknown: ok` in its limit if it may be absent"
    return replace(check, verdict=INCONCLUSIVE, advice=advice)


def _is_name(text: str) -> bool:
    """Return whether a row is one of a name, not of what none names: (core), unattributed."""
    return not text.startswith("(") and text != UNATTRIBUTED


def _with_nameless(check: Check, now: Measurement, base: Measurement | None) -> Check:
    """Make a passing check inconclusive if code without a name or place may exceed its limit.

    Code that had no name in the base either is no part of other names than symbols now, if the base
    shows that it has names: a maximum of a name that neither has would always hold.
    """
    level, name = split_metric(check.metric)
    if check.verdict != PASS or check.limit is None:
        return check
    if lost := _lost(check, now, base):
        return replace(check, verdict=INCONCLUSIVE, advice=_OF_PLACES[lost].format(name))
    if level not in OF_NAMES:
        return check
    nameless = now.nameless
    if level == "symbol" and not is_glob(name) and now.symbols.get(name, 0):
        nameless = 0
    elif level != "symbol" and base is not None and not _is_unseen(check, now, base):
        nameless -= base.nameless
    if name == CORE or check.actual + nameless <= check.limit:
        return check
    advice = f"{now.nameless:,} B of code have no name; measure the image before it is stripped"
    return replace(check, verdict=INCONCLUSIVE, advice=advice)


def _with_any_overload(
    check: Check, limit: Limit, now: Measurement, base: Measurement | None
) -> Check:
    """Make a passing check of an overload inconclusive if code of any overload may exceed it.

    Only a registration tells the overload. An operator that names of functions tell has none.
    """
    level, name = split_metric(check.metric)
    operator, dot, _ = name.partition(".")
    whole = f"{level}/{operator}"
    is_told = _is_listed(limit) or now.analysis is None or now.analysis.users is not None
    if level != "operator" or not dot or is_told or matches(limit.metric, whole):
        return check
    if check.verdict != PASS or check.limit is None:
        return check
    others = now.value(whole) or 0
    before = base.value(whole) or 0 if base is not None and check.kind != ABSOLUTE else 0
    if check.actual + others - before <= check.limit:
        return check
    advice = f"{others:,} B of {operator} may be of any overload; set a limit for {whole}"
    return replace(check, verdict=INCONCLUSIVE, advice=advice)


def _is_unseen(check: Check, *measured: Measurement) -> bool:
    return check.kind == ABSOLUTE and not any(each.knows(check.metric) for each in measured)


_OF_PLACES = {
    SOURCES: "{} is known by its sources, which the image no longer tells; compile with -g",
    OBJECTS: "{} is known by its objects, which the image no longer tells; name the linker map",
    JOINED: "{} is known by its objects, which link-time optimization has joined with others",
}


def _lost(check: Check, now: Measurement, base: Measurement | None) -> str:
    """Return the kind of places that the base has for a metric and the image lacks, or nothing.

    A baseline does not record the places that it had; then only a metric without bytes may have
    lost them. A metric that shrank may have lost some to code that no longer has a source.
    """
    level = split_metric(check.metric)[0]
    lost = now.lost.get(check.metric) or now.lost.get(level, "")
    if base is None:
        return ""
    has_shrunk = (base.value(check.metric) or 0) > check.actual
    if not lost and has_shrunk and base.analysis is not None:
        unseen = now.sourceless.get(check.metric, 0) - base.sourceless.get(check.metric, 0)
        return SOURCES if check.actual + unseen > (check.limit or 0) else ""
    if base.analysis is None:
        return lost if not check.actual and base.value(check.metric) else ""
    return "" if lost in (base.lost.get(check.metric), base.lost.get(level)) else lost


def _nearest(level: str, name: str, now: Measurement) -> str:
    if level == "symbol":
        return now.unmatched.get(name, "")
    return "".join(difflib.get_close_matches(name, list(now.names(level)), n=1))


# Least room above the size for a suggestion; with less, suggestions would change with every commit.
_WIDE_PERCENT, _WIDE_BYTES = 10, 1024


def offers(checks: Iterable[Check]) -> tuple[Offer, ...]:
    """Suggest tighter limits where a limit is far above the size.

    These are absolute limits with much room, and growth limits with a much larger base.
    """
    found = (
        offer
        for check in checks
        if check.verdict == PASS and not check.waived
        for offer in (_tighter_limit(check), _smaller_baseline(check))
    )
    return tuple(offer for offer in found if offer is not None)


def _tighter_limit(check: Check) -> Offer | None:
    """Suggest a limit 1 % above the size, at least 256 bytes above, rounded up to 256 bytes."""
    if check.kind != ABSOLUTE or check.limit is None:
        return None
    if check.limit - check.actual <= max(check.limit * _WIDE_PERCENT // 100, _WIDE_BYTES):
        return None
    offered = check.actual + max(check.actual // 100, 256)
    offered += -offered % 256
    text = f"{check.metric}: {offered:,} B"
    return Offer(check.metric, check.limit, offered, check.actual, check.place, text)


def _smaller_baseline(check: Check) -> Offer | None:
    """Suggest a new baseline if the size shrank by more than the limit allows it to grow."""
    if check.kind != GROWTH or check.limit is None or check.base is None:
        return None
    allowed = check.limit - check.base
    if check.base - check.actual <= max(allowed, _WIDE_BYTES):
        return None
    text = f"sizeguard baseline update --app {check.app} --target {check.target}"
    offered = check.actual + allowed
    return Offer(check.metric, check.limit, offered, check.actual, check.place, text)
