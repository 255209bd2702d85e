"""Sentences about a gate's result that terminal and Markdown share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sizeguard.attribution.size_report import CORE, OUTSIDE
from sizeguard.base.dataclass import dataclass
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS, PRESENT
from sizeguard.gate.causes.growth_result import Cause
from sizeguard.gate.gate_result import (
    ABSOLUTE,
    CREEP,
    ELIMINATION,
    GROWTH,
    IS_HEAD,
    NOT_RUN,
    SIZE_KINDS,
    AppResult,
    Check,
    Command,
    GateResult,
    Offer,
)
from sizeguard.gate.policy.terms_result import USED, WaiverUse
from sizeguard.report.gate.findings.gate_findings import (
    LACKING,
    GateFinding,
    findings,
    is_note,
    urgency,
)
from sizeguard.report.gate.shared.shared_findings import once_per_cause
from sizeguard.report.writers.printable import counted

_WORDS = {PASS: "PASS", FAIL: "FAIL", INCONCLUSIVE: "INCONCLUSIVE", NOT_RUN: "NOT RUN"}
_CAUSES = {
    "unwind": "unwind tables",
    "padding": "padding",
    "other": "headers, tables, smaller things",
}
FOLDED = 6  # a pattern with more checks than this gets one line


def word(verdict: str) -> str:
    """Return the verdict in capitals."""
    return _WORDS[verdict]


def slack_text(sizes: Sizes) -> str:
    """Say how many bytes can be added until the file on disk has one page more."""
    now = f"({sizes.file:,} now)"
    if not sizes.page_slack:
        return f"none: any growth adds to the file on disk {now}"
    most = counted(sizes.page_slack, "byte")
    return f"at most {most} until the file on disk grows a page {now}"


def verdict_line(result: GateResult) -> str:
    """Sum up the result: FAIL  2 of 6 builds: 3 limits exceeded, 1 waiver expired."""
    wrong = [finding for finding in findings(result) if finding.verdict in (FAIL, INCONCLUSIVE)]
    builds = {(app.app, app.target) for app in result.apps}
    if not wrong and result.verdict == PASS:
        text = f"{counted(len(builds), 'build')} within all limits"
    else:
        bad = {(f.app, f.target) for f in wrong} & builds
        parts = _counts(wrong) or ["evidence is missing"]
        text = (
            f"{len(bad)} of {counted(len(builds), 'build')}: {', '.join(parts)}"
            if bad and len(builds) > 1
            else ", ".join(parts)
        )
    loose = sum(change.loosens and change.verdict == PASS for change in result.policy_changes)
    text += f", {counted(loose, 'term')} loosened" if loose else ""
    # A run that found the earlier one passed may fail by its terms or trailers.
    text += f" ({result.skipped})" if result.skipped and result.verdict == PASS else ""
    return f"{word(result.verdict)}  {text}"


def _counts(wrong: Iterable[GateFinding]) -> list[str]:
    """Count the worst four kinds of findings, and how many more there are.

    3 limits exceeded, 1 model broken
    """
    names = {
        ("policy", FAIL): ("loosened term refused", "loosened terms refused"),
        ("policy", INCONCLUSIVE): ("policy not compared", "policies not compared"),
        ("problem", FAIL): ("thing could not be done", "things could not be done"),
        ("model", FAIL): ("model broken", "models broken"),
        ("selection", FAIL): ("selection finding", "selection findings"),
        ("limit", FAIL): ("limit exceeded", "limits exceeded"),
        ("needed", FAIL): ("new library or search path", "new libraries or search paths"),
        ("machine", FAIL): ("image of another kind", "images of another kind"),
        ("run", FAIL): ("run failed", "runs failed"),
        ("elimination", FAIL): ("app whose claims fail", "apps whose claims fail"),
        ("waiver", FAIL): ("waiver invalid", "waivers invalid"),
        ("problem", INCONCLUSIVE): ("thing could not be measured", "things could not be measured"),
        ("limit", INCONCLUSIVE): ("limit undecided", "limits undecided"),
        ("needed", INCONCLUSIVE): ("list of libraries unknown", "lists of libraries unknown"),
        ("elimination", INCONCLUSIVE): ("elimination undecided", "eliminations undecided"),
        ("model", INCONCLUSIVE): ("model undecided", "models undecided"),
        ("selection", INCONCLUSIVE): ("selection question", "selection questions"),
        ("waiver", INCONCLUSIVE): ("waiver undecided", "waivers undecided"),
    }
    once = once_per_cause(list(wrong))
    kinds = [(finding.rule.partition("/")[0], finding.verdict) for finding in once]
    parts = [(kinds.count(kind), name) for kind, name in names.items() if kind in kinds]
    texts = [counted(count, *name) for count, name in parts[:4]]
    return texts + ([f"{sum(count for count, _ in parts[4:])} more"] if len(parts) > 4 else [])


def base_text(result: GateResult) -> str:
    """Name the base, or the reason for its absence: base 4f2a91c."""
    if result.base is None:
        return ""
    if not result.base.commit:
        return f"no base: {result.base.text}"
    is_head = f", {IS_HEAD}" if result.base.text == IS_HEAD else ""
    return f"base {result.base.commit[:7]}{is_head}"


def headline(app: AppResult, found: Sequence[GateFinding], name: str) -> str:
    """Sum up a build: vision grew 1,204 bytes: 204 more than `load` allows.

    found: the findings of the build
    """
    size, reasons = app.sizes, _reasons(found)
    if size is None:
        text = "was not measured"
    elif reasons:
        text = _change(app, " bytes") or f"loads {size.load:,} bytes"
    else:
        change = _change(app, "")
        of_full = (
            f", {100 * size.load / app.full.load:.0f}% of full"
            if app.full and app.full.load
            else ""
        )
        text = f"loads {size.load:,} bytes{of_full}" + (f", {change}" if change else "")
    more = f", and {counted(len(reasons) - 2, 'more finding')}" if len(reasons) > 2 else ""
    return f"{name} {text}" + (f": {'; '.join(reasons[:2])}{more}" if reasons else "")


def _reasons(found: Sequence[GateFinding]) -> list[str]:
    failing = [f for f in found if f.verdict == FAIL]
    wrong = failing or [f for f in found if f.verdict == INCONCLUSIVE]
    # The change's own growth comes before creep, which includes earlier changes.
    wrong.sort(key=lambda f: (urgency(f), f.check is not None and f.check.kind == CREEP))
    without = sum(_lacks_baseline(f.check) for f in wrong)
    reasons: list[str] = []
    for each in _of_worst_limits(wrong):
        if without > 1 and _lacks_baseline(each.check):
            text = f"{without} sizes have no baseline"  # a new app: one reason for all
            reasons += [] if text in reasons else [text]
        else:
            reasons.append(_reason(each))
    return reasons


def _of_worst_limits(found: Sequence[GateFinding]) -> list[GateFinding]:
    """Keep of each metric the limit that is exceeded most; other findings stay."""
    most = {
        each.check.metric: each
        for each in sorted(found, key=_excess)
        if each.check is not None and _excess(each)
    }
    return [f for f in found if f.check is None or not _excess(f) or most[f.check.metric] is f]


def _excess(finding: GateFinding) -> int:
    """Return the bytes over a limit of size; 0 for creep, which has a text of its own."""
    check = finding.check
    if check is None or check.kind not in SIZE_KINDS or check.kind == CREEP:
        return 0
    return max(0, -(check.headroom or 0))


def _lacks_baseline(check: Check | None) -> bool:
    """Return whether a limit of growth has no size to count from; an absolute one needs none."""
    return check is not None and check.kind in (GROWTH, CREEP) and check.headroom is None


def _change(app: AppResult, unit: str) -> str:
    """Describe the change: grew 1,204; empty without a change or a base."""
    if app.sizes is None or app.old_sizes is None:
        return ""
    delta = app.sizes.load - app.old_sizes.load
    return f"{'grew' if delta > 0 else 'shrank'} {abs(delta):,}{unit}" if delta else ""


def _reason(finding: GateFinding) -> str:
    check = finding.check
    if check is None or check.kind not in SIZE_KINDS:
        if check is not None and check.kind == ELIMINATION and check.actual:
            claims = counted(check.actual, "claim")
            if check.verdict == INCONCLUSIVE:
                return f"{claims} cannot be decided"
            return f"{claims} {'does' if check.actual == 1 else 'do'} not hold"
        return finding.message
    if _lacks_baseline(check):
        return f"`{check.metric}` has no baseline"
    if check.headroom is None or check.headroom >= 0:
        return f"`{check.metric}` cannot be decided"
    return f"{-check.headroom:,} more than `{check.metric}` allows{since_release(check)}"


def since_release(check: Check) -> str:
    """Tell a limit of creep from that of growth, which can have the same metric."""
    return " since a release" if check.kind == CREEP else ""


@dataclass(frozen=True, slots=True)
class CheckLine:
    """A line for one check, or for several that pass."""

    name: str
    actual: int
    limit: int | None
    headroom: int | None
    verdict: str
    rule: str


def limit_lines(app: AppResult) -> list[CheckLine]:
    """List the limits, exceeded ones first.

    Many checks of one pattern share one line. It shows the passing check with the least headroom,
    or the largest undecided one.
    """
    checks = sorted(
        (check for check in app.checks if check.kind in SIZE_KINDS),
        key=lambda check: check.kind == CREEP,
    )
    lines = [_line(check) for check in checks if check.verdict == FAIL]
    for verdict in (INCONCLUSIVE, NOT_RUN, PASS):
        groups: dict[tuple[str, str], list[Check]] = {}
        for check in checks:
            if check.verdict == verdict:
                groups.setdefault((check.pattern or check.metric, check.kind), []).append(check)
        for (pattern, _), group in groups.items():
            lines += (
                [_folded(pattern, group, verdict)] if len(group) > FOLDED else map(_line, group)
            )
    return lines


def _folded(pattern: str, group: list[Check], verdict: str) -> CheckLine:
    if verdict == PASS:
        line = _line(min(group, key=lambda check: check.headroom or 0))
        text = f"{len(group)} in limits, least room: {line.name.partition('/')[2]}"
    else:
        line = _line(max(group, key=lambda check: check.actual))
        how = "undecided" if verdict == INCONCLUSIVE else "not run"
        text = f"{len(group)} {how}, largest: {line.name.partition('/')[2]}"
    return CheckLine(pattern, line.actual, line.limit, line.headroom, verdict, text)


def _line(check: Check) -> CheckLine:
    """Format a check as one line.

    The commit of the merge base is in the headline, so it is omitted here.
    """
    since = (
        " since merge base"
        if check.since.startswith("merge base")
        else f" since {check.since}"
        if check.since
        else ""
    )
    waived = f"{check.waived:,} waived, " if check.waived else ""
    waived += f"{check.moved:,} moved, " if check.moved else ""
    rule = f"at most {check.rule}" if check.kind == ABSOLUTE else check.rule
    rule += f", set for {check.set_for}" if check.set_for else ""
    return CheckLine(
        check.metric,
        check.actual,
        check.limit,
        check.headroom,
        check.verdict,
        f"{waived}{rule}{since}",
    )


def models_text(app: AppResult) -> tuple[str, str]:
    """Sum up the models, and their verdict: 2 of 2 models as full, 7 cases."""
    ran = [model for model in app.models if model.verdict != NOT_RUN]
    good = [model for model in ran if model.verdict == PASS]
    if not ran:
        return f"{counted(len(app.models), 'model')} not run here", NOT_RUN
    cases = sum(model.cases for model in good)
    again = sum(model.cached for model in ran)
    kept = f", {again} unchanged" if again else ""
    text = (
        f"{len(good)} of {counted(len(app.models), 'model')} as full,"
        f" {counted(cases, 'case')}{kept}"
    )
    return text, PASS if len(good) == len(ran) else FAIL


def elimination_text(app: AppResult) -> tuple[str, str] | None:
    """Sum up the claims, and their verdict: 212 absent, 41 present, 0 leftovers.

    None if they were not checked.
    """
    check = next((check for check in app.checks if check.kind == ELIMINATION), None)
    if check is None:
        return None
    if app.verification is None:
        return "nothing could be verified", check.verdict
    right = [verdict for verdict in app.verification.verdicts if verdict.verdict == PASS]
    gone, there = (
        sum(verdict.expect == expect for verdict in right) for expect in (ABSENT, PRESENT)
    )
    undecided = check.actual if check.verdict == INCONCLUSIVE else 0
    left = counted(check.actual - undecided, "leftover")
    more = f", {undecided} undecided" if undecided else ""
    return f"{gone} absent, {there} present, {left}{more}", check.verdict


def selection_text(found: Sequence[GateFinding]) -> tuple[str, str] | None:
    """Sum up the selection, and its verdict: 2 missing, 1 to review.

    None if it was not checked.
    """
    mine = [finding for finding in found if finding.rule.startswith("selection/")]
    if not mine:
        return None
    wrong = [finding for finding in mine if finding.verdict != PASS]
    if not wrong:
        covered = next((f for f in mine if f.rule == "selection/covered"), None)
        return covered.message if covered else "nothing is missing", PASS
    missing = sum(f.rule in LACKING for f in wrong)
    text = (
        f"{missing} missing"
        if missing == len(wrong)
        else f"{missing} missing, {len(wrong) - missing} to review"
    )
    return text, FAIL if any(finding.verdict == FAIL for finding in wrong) else INCONCLUSIVE


def operator_of(cause: Cause) -> str:
    """Return the operator of a cause; empty for a symbol of the core, whose name says enough."""
    return "" if cause.symbol and cause.operator == CORE else cause.operator


def cause_name(cause: Cause) -> str:
    """Return the symbol, or the kind of cause if there is none."""
    if cause.kind == "other" and cause.operator:
        return "" if cause.operator == OUTSIDE else "without a symbol"
    return cause.symbol or _CAUSES.get(cause.kind, cause.kind)


def offer_text(offer: Offer) -> str:
    """Describe a suggested limit in one sentence."""
    return (
        f"{offer.metric} is {offer.actual:,} bytes of {offer.limit:,} allowed; {offer.offered:,}"
        f" would do: {offer.text}"
    )


def waiver_line(use: WaiverUse) -> str:
    """Describe a waiver and its use.

    load of vision: 204 of 300 bytes used, until 2027-01-31, owner: reason (place)
    """
    waiver = use.waiver
    of = " ".join(part for part in (waiver.app, waiver.target) if part)
    text = (
        f"{waiver.metric}{f' of {of}' if of else ''}: {use.used:,} of {waiver.bytes:,} bytes used,"
        f" until {waiver.expires}"
    )
    state = "" if use.state == USED else f", {use.state}"
    return f"{text}{state}, {waiver.owner}: {waiver.reason} ({waiver.source})"


def todo(app: AppResult, found: Sequence[GateFinding]) -> list[Command]:
    """List commands that help with the sizes: the result's commands, else the advice on limits."""
    limits = [
        f.advice
        for f in found
        if f.advice and f.rule.startswith("limit/") and f.verdict in (FAIL, INCONCLUSIVE)
    ]
    return list(dict.fromkeys(app.commands)) or [
        Command("", text) for text in dict.fromkeys(limits)
    ]


def notes(found: Iterable[GateFinding]) -> list[str]:
    """Write a line for each passing finding that has a note."""
    return [f"{f.message} ({f.place})" if f.place else f.message for f in found if is_note(f)]


def others(found: Iterable[GateFinding]) -> list[GateFinding]:
    """List the failures that are not about sizes: models, selections, builds."""
    return [
        f
        for f in found
        if f.verdict in (FAIL, INCONCLUSIVE) and not f.rule.startswith(("limit/", "elimination"))
    ]
