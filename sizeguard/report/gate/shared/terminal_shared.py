"""Blocks of a gate's report on a terminal: a cause, and the list of its builds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sizeguard.gate.gate_result import CREEP, AppResult, Check, Command
from sizeguard.report.gate.findings.gate_findings import GateFinding
from sizeguard.report.gate.gate_lines import mark, marked, number_width, numbers
from sizeguard.report.gate.gate_sections import (
    CAUSES,
    CLAIMS,
    cause_texts,
    commands_to_try,
    creep_shares,
)
from sizeguard.report.gate.gate_words import since_release, todo, word
from sizeguard.report.gate.shared.shared_builds import GroupedFindings, SharedSizes
from sizeguard.report.gate.shared.shared_causes import SharedCause, shared_causes
from sizeguard.report.gate.shared.shared_findings import SharedFinding
from sizeguard.report.screen.cells import cut
from sizeguard.report.screen.fit import wrapped
from sizeguard.report.screen.grid import RowName, distinct
from sizeguard.report.verify.verify_words import claim_message
from sizeguard.report.writers.printable import counted, printable
from sizeguard.report.writers.style import NONE, Style

_ROWS = 24  # builds in a table; a change of shared code can fail hundreds
_ADVICE = 6  # pieces of advice of one cause
_INDENT = " " * 6


def shared_blocks(parts: GroupedFindings, style: Style) -> Iterator[str]:
    """Write the causes of failures in several builds, those that are not sizes first."""
    for other in parts.others:
        yield ""
        yield from _other(other, parts, style)
    for sizes in parts.sizes:
        yield ""
        yield from _no_base(sizes, style) if sizes.lacks_base else _sizes(sizes, style)
        yield from commands_to_try(_commands(sizes), style)


def _other(shared: SharedFinding, parts: GroupedFindings, style: Style) -> Iterator[str]:
    """Write a failure, its builds, and what to do."""
    first = shared.first
    places = {each.place for each in shared.found}
    place = f"  {first.place}" if first.place and len(places) == 1 else ""
    start = f"{word(first.verdict)}  {counted(len(shared.builds), 'build')}: "
    claims = parts.claims_of(shared)
    text = f"{counted(len(claims), 'claim')} of the selection" if claims else shared.message
    yield from wrapped(printable(f"{start}{text}{place}"), 0, style)
    yield from _builds(shared.builds, style)
    for claim in claims[:CLAIMS]:
        yield from marked(claim.verdict, claim_message(claim), style)
    if len(claims) > CLAIMS:
        yield f"    {len(claims) - CLAIMS:,} more"
    for advice in shared.advice[:_ADVICE]:
        yield f"    → {printable(advice)}"
    if len(shared.advice) > _ADVICE:
        yield f"    → and {len(shared.advice) - _ADVICE:,} more for other builds"


def _builds(builds: Iterable[tuple[str, str]], style: Style) -> Iterator[str]:
    """Write the names of builds, as many on a line as fit."""
    line = ""
    for build in builds:
        name = printable(" ".join(filter(None, build)))
        if line and len(_INDENT) + len(line) + len(name) + 3 > style.width:
            yield f"{_INDENT}{line},"
            line = ""
        line += f", {name}" if line else name
    yield f"{_INDENT}{line}"


def _no_base(sizes: SharedSizes, style: Style) -> Iterator[str]:
    builds = sizes.limits[0].builds
    text = f"sizes of {counted(len(builds), 'build')} have no baseline"
    yield f"{word(sizes.verdict)}  {text}"
    yield from _builds(builds, style)


def _sizes(sizes: SharedSizes, style: Style) -> Iterator[str]:
    """Write a table of builds for each exceeded limit, and the causes of the growth."""
    checks = [sizes.checks(limit)[0] for limit in sizes.limits]
    names = ", ".join(dict.fromkeys(f"`{each.metric}`{since_release(each)}" for each in checks))
    text = f"{sizes.summary} the limit of {names}"
    yield from wrapped(printable(f"{word(sizes.verdict)}  {text}"), 0, style)
    width = _name_width(sizes, style)
    for limit in sizes.limits:
        yield from _table(sizes.checks(limit), width, style)
    for check in checks:
        if check.kind == CREEP and check.shares:
            yield from creep_shares(check, style)
    yield from _what_grew(sizes.apps, style)


def _name_width(sizes: SharedSizes, style: Style) -> int:
    names = [f"{app.app} {app.target}" for app in sizes.apps]
    heads = [_head(sizes.checks(limit)[0]) for limit in sizes.limits]
    longest = max(len(printable(name)) for name in (*names, *heads))
    limit = 44 if style.full else style.width - 3 * number_width(style) - 5
    return min(longest + 2, style.room(limit))


def _head(check: Check) -> str:
    return check.metric + since_release(check)


def _table(checks: Sequence[Check], width: int, style: Style) -> Iterator[str]:
    metric = cut(printable(_head(checks[0])), style.room(width - 2))
    yield f"  {metric:<{width}}{numbers(('actual', 'limit', 'headroom'), style)}"
    shown = checks[:_ROWS]
    rows = [RowName(printable(f"{check.app} {check.target}")) for check in shown]
    names = distinct(rows, style.room(width - 2))
    for check, name in zip(shown, names, strict=True):
        limit = NONE if check.limit is None else f"{check.limit:,}"
        headroom = NONE if check.headroom is None else f"{check.headroom:+,}"
        cells = numbers((f"{check.actual:,}", limit, headroom), style)
        yield f"  {name:<{width}}{cells}  {mark(check.verdict, style)}"
    if len(checks) > _ROWS:
        yield f"  {len(checks) - _ROWS:,} more builds: sizeguard gate --format json"


def _what_grew(apps: Sequence[AppResult], style: Style) -> Iterator[str]:
    """Write the largest causes once, with the builds that have them if not all do."""
    causes = shared_causes(apps)
    if not causes:
        return
    yield ""
    total = sum(each.delta for cause in causes for each in cause.causes)
    yield f"what {'grew' if total > 0 else 'changed'}, in {counted(len(apps), 'build')}"
    shown = causes[:CAUSES]
    width = max(len(cause.change) for cause in shown)
    texts = cause_texts([cause.causes[0] for cause in shown], style)
    for cause, text in zip(shown, texts, strict=True):
        yield from _cause(cause, text, len(apps), max(width, 9), style)
    if len(causes) > CAUSES:
        yield f"  {'':>{max(width, 9)}}  {counted(len(causes) - CAUSES, 'more change')}"


def _cause(shared: SharedCause, text: str, count: int, width: int, style: Style) -> Iterator[str]:
    cause = shared.causes[0]
    old, new = shared.sizes
    sizes = f"  {old} → {new}" if old else ""
    yield f"  {style.signed(f'{shared.change:>{width}}', cause.delta)}  {text}{sizes}"
    places = dict.fromkeys(each.place for each in shared.causes if each.place)
    for place in [*places][:1]:
        yield f"{'':<{width + 4}}{style.dim(cut(printable(place), style.room(style.width - 13)))}"
    if len(shared.builds) < count:
        yield f"{'':<{width + 4}}in {len(shared.builds)} of them"


def _commands(sizes: SharedSizes) -> list[Command]:
    """List the commands of the first build, and say that the others have the same."""
    if sizes.lacks_base:
        found = [finding for limit in sizes.limits for finding in limit.found]
        # Of reasons for the same command, the first is shown.
        reasons: dict[str, str] = {}
        for finding in found:
            reasons.setdefault(finding.advice.rpartition(": ")[2], finding.advice)
        advice = [text for text in reasons.values() if text]
        more = len(advice) - _ADVICE
        last = [f"and {more:,} more for other builds"] if more > 0 else []
        return [Command("", text) for text in (*advice[:_ADVICE], *last)]
    first = [finding for limit in sizes.limits for finding in limit.found if _is_of(finding, sizes)]
    commands = todo(sizes.apps[0], first)
    others = len(sizes.apps) - 1
    note = f"the same for the other {counted(others, 'build')}, with --app and --target"
    return [*commands, Command("", note)] if commands else []


def _is_of(finding: GateFinding, sizes: SharedSizes) -> bool:
    return (finding.app, finding.target) == (sizes.apps[0].app, sizes.apps[0].target)
