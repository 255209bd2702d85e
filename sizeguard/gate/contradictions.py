"""Judge a stored result again from its numbers, and list its contradictions.

A result from an untrusted run may claim a pass that its numbers contradict. A job that shows such a
result with its own permissions must not repeat the claim.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, OK, PASS
from sizeguard.gate.gate_result import (
    ABSOLUTE,
    CHECK_KINDS,
    ELIMINATION,
    GROWTH,
    MEASURED,
    NOT_RUN,
    SIZE_KINDS,
    SNAPSHOT,
    AppResult,
    Check,
    GateResult,
    overall,
)
from sizeguard.gate.policy.file_growth import RULE as FILE_RULE
from sizeguard.gate.policy.file_growth import allowed_growth
from sizeguard.gate.policy.limits import parse_limit, parse_most
from sizeguard.gate.policy.terms_result import (
    EXCEEDED,
    EXPIRED,
    SPENT,
    UNUSED,
    USED,
    WAIVER_STATES,
    WaiverUse,
)

NOTHING = "the verdict is pass, but nothing was measured"
_TOTALS = ("load", "ram", "file")
_PAGES = 1 << 40  # more than segments are rounded up to; a result does not have their number
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_LATER = datetime.timedelta(2)  # a run may have begun the day before, in another time zone
_Key: TypeAlias = tuple[str, str, str]  # metric, app and target


def contradictions(result: GateResult, today: datetime.date | None = None) -> Iterator[str]:
    """Yield a line for each statement that the result's own numbers contradict.

    today: a waiver that expired before yesterday cannot be used on this day
    """
    waived = _waivers(result.waivers)
    for app in result.apps:
        where = f"{app.app} {app.target}"
        for text in _of_app(app, waived):
            yield f"{where}: {text}"
    for use in result.waivers:
        yield from _of_waiver(use, today)
    commit = result.base.commit if result.base else ""
    if commit and not _COMMIT.fullmatch(commit):
        yield f"growth is counted from '{commit[:60]}', which is not a commit"
    verdict = recomputed(result)
    if verdict != result.verdict:
        yield f"the verdict is {result.verdict}, but its parts give {verdict}"
    if result.verdict == PASS and not result.apps:
        yield NOTHING


def recomputed(result: GateResult) -> str:
    """Judge the result by its parts only."""
    verdicts = {_of_parts(app) for app in result.apps}
    verdicts |= {use.verdict for use in result.waivers}
    verdicts |= {finding.verdict for finding in result.selection}
    verdicts |= {change.verdict for change in result.policy_changes}
    verdicts |= {INCONCLUSIVE if each.exit_code == 3 else FAIL for each in result.problems}
    return overall(verdicts)


def _of_parts(app: AppResult) -> str:
    """Judge an app by its checks and models; one without sizes does not pass."""
    verdicts = {check.verdict for check in app.checks} | {model.verdict for model in app.models}
    found = overall(verdicts)
    return app.verdict if app.sizes is None and app.verdict != PASS else found


def _of_app(app: AppResult, waived: Counter[_Key]) -> Iterator[str]:
    verdict = _of_parts(app)
    if app.verdict != verdict:
        yield f"the verdict is {app.verdict}, but its checks and models give {verdict}"
    if app.sizes is None and app.verdict == PASS:
        yield "the verdict is pass, but there are no sizes"
    if not app.checks and app.verdict == PASS:
        yield "the verdict is pass, but nothing was checked"
    for sizes in (app.sizes, app.old_sizes, app.full):
        if sizes and min(sizes.load, sizes.ram, sizes.file, sizes.page_slack) < 0:
            yield "a size is negative"
    for check in app.checks:
        for text in _of_check(app, check, waived):
            yield f"{check.metric} {check.kind}: {text}"
    for model in app.models:
        if model.verdict == PASS and (model.missing or model.cases <= 0):
            yield f"model {model.model}: the verdict is pass, but it compared nothing or has gaps"
    grown = app.growth_since_base
    if grown and app.base in (MEASURED, SNAPSHOT) and app.sizes and app.old_sizes:
        delta = app.sizes.load - app.old_sizes.load
        if grown.load != delta:
            yield f"growth since the base is {grown.load:+,}, but its sizes give {delta:+,}"


def _of_check(app: AppResult, check: Check, waived: Counter[_Key]) -> Iterator[str]:
    if check.kind not in CHECK_KINDS:
        yield "unknown kind of check"
    elif check.kind == ELIMINATION:
        yield from _of_elimination(app, check)
    elif check.kind not in SIZE_KINDS:
        if check.verdict == PASS and check.actual:
            yield f"the verdict is pass, but it counts {check.actual:,}"
    else:
        yield from _of_numbers(app, check)
        yield from _of_totals(app, check)
        yield from _of_file(app, check) if check.rule == FILE_RULE else _of_limit(check)
        apps, targets = {"", check.app}, {"", check.target}
        most = sum(waived[check.metric, a, t] for a in apps for t in targets)
        if check.waived > most:
            yield f"{check.waived:,} bytes are waived, but waivers allow only {most:,}"


def _of_numbers(app: AppResult, check: Check) -> Iterator[str]:
    """Compare the verdict of a check with its numbers."""
    if check.limit is None or check.headroom is None:
        if check.verdict in (PASS, FAIL) or (check.limit is None) != (check.headroom is None):
            yield f"the verdict is {check.verdict}, but there is no limit"
        return
    if check.headroom != check.limit - check.actual:
        yield f"the headroom is {check.headroom:,}, but its numbers give" + (
            f" {check.limit - check.actual:,}"
        )
    verdict = PASS if check.actual <= check.limit else FAIL
    is_open = check.verdict == INCONCLUSIVE or _is_of_other_tools(app, check)
    if not is_open and check.verdict != verdict:
        of = f"{check.actual:,} of {check.limit:,}"
        yield f"the verdict is {check.verdict}, but {of} is {verdict}"
    if min(check.actual, check.waived, check.moved) < 0:
        yield "a number of bytes is negative"


def _is_of_other_tools(app: AppResult, check: Check) -> bool:
    """Return whether it is a cap for other tools that the base exceeds, too; 0 is for all tools."""
    if check.verdict != NOT_RUN or check.kind != ABSOLUTE or not check.set_for:
        return False
    base = getattr(app.old_sizes, check.metric) if check.metric in _TOTALS else check.actual
    return check.limit != check.waived and base >= check.actual


def _of_totals(app: AppResult, check: Check) -> Iterator[str]:
    """Compare load, ram and file with the sizes of the app and of its base."""
    if check.metric not in _TOTALS or app.sizes is None:
        return
    actual = getattr(app.sizes, check.metric)
    if check.actual != actual:
        yield f"it judges {check.actual:,} bytes, but {check.metric} is {actual:,}"
    if check.kind == GROWTH and check.base is not None:
        base = getattr(app.old_sizes, check.metric) if app.old_sizes else 0
        if app.old_sizes is None:
            yield f"it counts from {check.base:,} bytes, but there is no base"
        elif check.base != base:
            yield f"it counts from {check.base:,} bytes, but the base has {base:,}"


def _of_limit(check: Check) -> Iterator[str]:
    """Compare the limit with its rule."""
    if check.limit is None:
        return
    try:
        if check.kind == ABSOLUTE:
            allowance = parse_most(check.metric, check.rule, "rule")
            # A result does not have the size of the memory region that a share is of
            share = check.limit - check.waived if allowance.milli_percent else 0
            most = max(allowance.bytes, share)
        elif check.base is None:
            yield "there is a growth limit, but no base"
            return
        else:
            text = check.rule.removeprefix("+").partition(" since ")[0]
            most = check.base + parse_limit(text, "rule").allowed(check.base)
    except InputError:
        yield "the rule of its limit cannot be read"
        return
    if check.moved and (check.kind == ABSOLUTE or not check.metric.startswith("operator/")):
        yield "bytes are moved, but only growth of an operator can have moved bytes"
    if check.moved > max(check.actual - most, 0):
        yield f"{check.moved:,} bytes are moved, more than the excess over the limit"
    most += check.waived + check.moved
    if check.limit != most:
        yield f"the limit is {check.limit:,}, but its rule gives {most:,}"


def _of_file(app: AppResult, check: Check) -> Iterator[str]:
    """Compare the default limit of the file with its largest possible value."""
    if check.limit is None or app.sizes is None:
        return
    if app.old_sizes is None:
        yield "there is a growth limit, but no base"
        return
    grown = allowed_growth(app.old_sizes, app.sizes, _PAGES)
    most = app.old_sizes.file + grown + check.waived
    if check.limit > most:
        yield f"the limit is {check.limit:,}, but its rule gives at most {most:,}"


def _of_elimination(app: AppResult, check: Check) -> Iterator[str]:
    if check.verdict != PASS:
        return
    found = app.verification
    if found is None:
        yield "the verdict is pass, but nothing was verified"
    elif check.actual or found.canary != OK:
        yield f"the verdict is pass, but {check.actual:,} claims fail or the verifier is broken"
    elif not found.verdicts:
        yield "the verdict is pass, but no claim was judged"
    elif any(each.verdict in (FAIL, INCONCLUSIVE) for each in found.verdicts):
        yield "the verdict is pass, but claims fail"


def _of_waiver(use: WaiverUse, today: datetime.date | None) -> Iterator[str]:
    waiver = use.waiver
    name = f"waiver of {waiver.metric}"
    if use.state not in WAIVER_STATES:
        yield f"{name}: unknown state"
    if use.state == USED and today and not _lasts(waiver.expires, today - _LATER):
        yield f"{name}: it is used, but it expired on {waiver.expires}"
    if use.state in (SPENT, EXCEEDED, EXPIRED) and use.verdict != FAIL:
        yield f"{name}: it is {use.state}, but its verdict is {use.verdict}"
    if not 0 <= use.used <= waiver.bytes:
        yield f"{name}: {use.used:,} of {waiver.bytes:,} bytes are used"
    if use.state == UNUSED and use.used:
        yield f"{name}: it is unused, but {use.used:,} of its bytes are used"


def _lasts(expires: str, day: datetime.date) -> bool:
    try:
        return datetime.date.fromisoformat(expires) >= day
    except ValueError:
        return False


def _waivers(uses: Iterable[WaiverUse]) -> Counter[_Key]:
    """Sum the bytes of waivers by metric, app and target."""
    found: Counter[_Key] = Counter()
    for use in uses:
        if use.state != EXPIRED:
            found[use.waiver.metric, use.waiver.app, use.waiver.target] += use.waiver.bytes
    return found
