"""Write a gate's result as a pull request comment: verdict, numbers, causes, commands.

All other numbers are folded, and the whole fits GitHub's limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sizeguard.base.errors import listed
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.gate_result import PARENT, REVIEWED, Base, Check, GateResult
from sizeguard.gate.policy.terms_result import UNUSED
from sizeguard.report.gate.comment_blocks import COMMENT, Block, Frame, fitted, short_message
from sizeguard.report.gate.findings.gate_findings import GateFinding, findings
from sizeguard.report.gate.gate_words import (
    CheckLine,
    elimination_text,
    headline,
    limit_lines,
    models_text,
    notes,
    offer_text,
    others,
    selection_text,
    slack_text,
    verdict_line,
    waiver_line,
    word,
)
from sizeguard.report.gate.markdown_causes import cause_block, part_blocks
from sizeguard.report.gate.markdown_sizes import (
    ICONS,
    bad_limits,
    growths,
    is_changed,
    matrix,
    size_table,
    unchanged_builds,
)
from sizeguard.report.gate.moved_code import moved_lines
from sizeguard.report.gate.shared.build_findings import (
    BuildFindings,
    findings_by_build,
    has_own_growth,
    is_urgent,
    own_claims,
)
from sizeguard.report.gate.shared.markdown_commands import commands_of_builds
from sizeguard.report.gate.shared.markdown_shared import build_names, changed_sizes, shared_sizes
from sizeguard.report.gate.shared.shared_builds import GroupedFindings, grouped_findings
from sizeguard.report.gate.shared.shared_findings import SharedFinding
from sizeguard.report.verify.verify_words import claim_message
from sizeguard.report.writers.markdown import (
    code,
    html_code,
    instruction,
    prose,
    row,
)
from sizeguard.report.writers.printable import counted, middle

_NAME = 80  # characters of a name
_NAMED = 3  # builds to name in a sentence
_CLAIMS = 5  # broken claims, and pieces of advice
_TABLES = 4  # passing builds with a table of their own
_BARE = Frame()


def markdown_text(result: GateResult, limit: int = COMMENT, frame: Frame = _BARE) -> str:
    """Write the comment, at most `limit` bytes in UTF-8."""
    return fitted([*_blocks(result, frame)], limit)


def _blocks(result: GateResult, frame: Frame) -> Iterator[Block]:
    found = findings(result)
    builds, outside = findings_by_build(result, found)
    verdict, _, text = verdict_line(result).partition("  ")
    kind = "informational, " if frame.is_informational else ""
    title = f"### {ICONS[result.verdict]} Size gate: {kind}{verdict.lower()}, {prose(text)}"
    base = [*_base(result, frame)]
    yield Block(0, [frame.marker, title, "", *base, *frame.notes])
    yield from _changed_terms(found)
    yield from matrix(builds)
    parts = grouped_findings(builds, outside)
    wrong = _wrong(parts, len(builds))
    urgent = bool(outside) or any(map(is_urgent, builds))
    if urgent:
        yield from wrong
    yield from shared_sizes(parts.sizes)
    yield from _all_sizes(parts.builds)
    yield from unchanged_builds(builds)
    yield from growths(result)
    if not urgent:
        yield from wrong
    yield from _why(builds, frame)
    yield from commands_of_builds(builds)
    yield from _waivers(result)
    yield from _offers(result)
    yield from (block for build in builds for block in _details(build))


def _base(result: GateResult, frame: Frame) -> Iterator[str]:
    parts: list[str] = []
    if result.base and result.base.commit:
        parts += _counted_from(result, result.base)
    elif result.base:
        parts.append(prose(f"There is no base: {result.base.text}."))
    if frame.measured:
        parts.append(frame.measured)
    elif result.head:
        parts.append(f"Measured at {code(result.head[:7])}.")
    if result.skipped:
        parts.append(f"Nothing was measured: {prose(result.skipped)}.")
    if parts:
        yield " ".join(parts)


def _counted_from(result: GateResult, base: Base) -> Iterator[str]:
    """Name the builds that are compared with the merge base, and those with baselines."""
    of = f", merge base with {code(base.ref)}" if base.ref else ""
    reviewed = [f"{app.app} {app.target}" for app in result.apps if app.base == REVIEWED]
    if any(app.base == PARENT for app in result.apps):
        name = code(base.commit[:7])
        yield f"The base {name} is HEAD itself{of}. Growth is counted from its parent."
        return
    if not reviewed:
        yield f"Growth is counted from {code(base.commit[:7])}{of}."
        return
    yield f"The base is {code(base.commit[:7])}{of}."
    if len(reviewed) == len(result.apps):
        yield "Growth is judged by the reviewed baselines."
    else:
        names = listed([code(middle(name, _NAME)) for name in reviewed], _NAMED)
        yield f"Growth of {names} is judged by the reviewed baseline, of others by the merge base."


def _changed_terms(found: Sequence[GateFinding]) -> Iterator[Block]:
    """List how the change's terms differ from the base's, with loosened terms in bold."""
    terms = [finding for finding in found if finding.rule.startswith("policy/")]
    rows: list[str] = []
    for finding in terms:
        if finding.verdict != PASS:
            rows += _item(finding).lines()
            continue
        what, _, text = finding.message.partition(": ")
        shown = f"**{prose(what)}**" if finding.rule == "policy/loosened" else prose(what)
        place = f" ({code(finding.place)})" if finding.place else ""
        rows.append(f"- {shown}: {prose(text)}{place}")
    if rows:
        yield Block(0, ["", "**Changed terms**", ""], rows)


class _Item(NamedTuple):
    """A line of a list, and the advice below it."""

    verdict: str
    text: str
    advice: str = ""

    def lines(self, where: str = "") -> Iterator[str]:
        """Write the item; `where` is Markdown."""
        yield f"- {ICONS[self.verdict]} {where}{self.text}"
        if self.advice:
            yield f"  - {instruction(self.advice)}"


def _item(finding: GateFinding) -> _Item:
    place = f" ({code(finding.place)})" if finding.place else ""
    return _Item(finding.verdict, f"{prose(short_message(finding.message))}{place}", finding.advice)


def _wrong(parts: GroupedFindings, count: int) -> list[Block]:
    """List the failures that are not sizes, each once with all its builds.

    count: of all builds
    """
    rows: list[str] = []
    for shared in parts.others:
        rows += _shared_item(shared, parts)
    for finding in parts.outside:
        subject = " ".join(part for part in (finding.app, finding.target) if part)
        rows += _item(finding).lines(_where([subject]) if subject and count > 1 else "")
    for build in parts.builds:
        where = _where([f"{build.app.app} {build.app.target}"]) if count > 1 else ""
        for item in dict.fromkeys(_of_build(build)):
            rows += item.lines(where)
    return [Block(1, ["", "**Failures**", ""], rows)] if rows else []


def _shared_item(shared: SharedFinding, parts: GroupedFindings) -> Iterator[str]:
    """Write a failure of several builds, and what to do."""
    names = [" ".join(filter(None, build)) for build in shared.builds]
    claims = parts.claims_of(shared)
    text = f"{counted(len(claims), 'claim')} of the selection" if claims else shared.message
    places = {finding.place for finding in shared.found}
    place = f" ({code(shared.first.place)})" if shared.first.place and len(places) == 1 else ""
    yield f"- {ICONS[shared.first.verdict]} {_where(names)}{prose(short_message(text))}{place}"
    yield from (f"  - {prose(short_message(claim_message(claim)))}" for claim in claims[:_CLAIMS])
    if len(claims) > _CLAIMS:
        yield f"  - {len(claims) - _CLAIMS:,} more claims"
    yield from (f"  - {instruction(advice)}" for advice in shared.advice[:_CLAIMS])
    if len(shared.advice) > _CLAIMS:
        yield f"  - and {len(shared.advice) - _CLAIMS:,} more for other builds"


def _where(names: Sequence[str]) -> str:
    return f"{build_names(names)}: "


def _of_build(build: BuildFindings) -> Iterator[_Item]:
    """List the failures of a build that are not sizes."""
    yield from map(_item, others(build.own))
    claims = own_claims(build)
    for claim in claims[:_CLAIMS]:
        yield _Item(claim.verdict, prose(short_message(claim_message(claim))))
    if len(claims) > _CLAIMS:
        yield _Item(INCONCLUSIVE, f"{len(claims) - _CLAIMS:,} more claims")
    for finding in build.own:
        if finding.rule != "elimination" or finding.verdict == PASS:
            continue
        if not claims:
            yield _item(finding)
        elif finding.advice:
            yield _Item(finding.verdict, instruction(finding.advice))


def _all_sizes(builds: Sequence[BuildFindings]) -> Iterator[Block]:
    """Write the sizes of builds: of many that pass, in one table."""
    passing = [build.app for build in builds if build.verdict == PASS and is_changed(build.app)]
    is_short = len(passing) <= _TABLES
    for build in builds:
        if is_short or build.verdict != PASS:
            yield from _sizes(build)
    if not is_short:
        yield from changed_sizes(passing)


def _sizes(build: BuildFindings) -> Iterator[Block]:
    """Write the sizes of a build that fails or changed."""
    app = build.app
    is_bad = build.verdict != PASS
    if is_bad:
        text = headline(app, build.own, "").strip().replace("`", "")
        name = f"{code(app.app)} for {code(app.target)}"
        yield Block(1, ["", f"#### {ICONS[build.verdict]} {name} {prose(short_message(text))}"])
    if app.sizes and (is_bad or is_changed(app)):
        yield size_table(build, 1 if is_bad else 2)
    rows = bad_limits(build) if has_own_growth(build) else []
    if rows:
        yield Block(1, [""], rows)


def _why(builds: Sequence[BuildFindings], frame: Frame) -> Iterator[Block]:
    """Write the causes of growth of the failing builds, else of the changed ones."""
    bad = [build.app for build in builds if build.verdict != PASS]
    apps = bad or [build.app for build in builds]
    yield from cause_block(apps, frame.links, 2)
    yield from part_blocks(apps, 2)
    moved = [line for app in bad for line in moved_lines(app, _NAME)]
    rows = [f"- {size} bytes: {prose(text)}" for size, text in dict.fromkeys(moved)]
    if rows:
        yield Block(2, ["", "**Moved to another operator**", ""], rows)
    is_named = len(builds) > 1
    yield from (
        _shares(check, is_named=is_named) for app in bad for check in app.checks if check.shares
    )


def _shares(check: Check, *, is_named: bool) -> Block:
    """Write the share of each commit in a metric's creep. is_named: with the name of the build."""
    of = f" of {code(f'{check.app} {check.target}')}" if is_named else ""
    title = f"**Creep of {code(check.metric)}{of} since {code(check.since)}**"
    head = ["", title, "", row(["change", "commit", "date", "subject"]), "|---:|---|---|---|"]
    shares = [
        row([f"{share.delta:+,}", code(share.commit[:11]), code(share.date), prose(share.subject)])
        for share in check.shares
    ]
    change = sum(share.delta for share in check.shares)
    total = row([f"{change:+,}", f"= {check.base or 0:,} → {check.actual:,}", "", ""])
    return Block(2, head, shares, [total])


_LIMITS = (
    row(["metric", "actual", "limit", "headroom", "", "rule"]),
    "|---|---:|---:|---:|---|---|",
)


def _limit(line: CheckLine) -> str:
    limit = "–" if line.limit is None else f"{line.limit:,}"
    headroom = "–" if line.headroom is None else f"{line.headroom:+,}" if line.headroom else "0"
    headroom = f"**{headroom}**" if line.verdict == FAIL else headroom
    return row(
        [
            code(middle(line.name, _NAME)),
            f"{line.actual:,}",
            limit,
            headroom,
            ICONS[line.verdict],
            prose(line.rule),
        ]
    )


def _waivers(result: GateResult) -> Iterator[Block]:
    uses = sorted(
        (use for use in result.waivers if use.state != UNUSED or use.verdict != PASS),
        key=lambda use: use.verdict == PASS,
    )
    if not uses:
        return
    rows = []
    for use in uses:
        rows.append(f"- {ICONS[use.verdict]} {prose(waiver_line(use))}")
        if use.verdict != PASS:
            rows += [f"  - {prose(short_message(use.message))}"] if use.message else []
            rows += [f"  - {instruction(use.advice)}"] if use.advice else []
    yield Block(1 if any(use.verdict != PASS for use in uses) else 3, ["", "**Waivers**", ""], rows)


def _offers(result: GateResult) -> Iterator[Block]:
    rows = []
    for app in result.apps:
        for offer in app.offers:
            place = f" ({code(offer.place)})" if offer.place else ""
            rows.append(f"- {code(f'{app.app} {app.target}')}: {prose(offer_text(offer))}{place}")
    if rows:
        yield Block(3, ["", "**Limits that could be tighter**", ""], rows)


def _details(build: BuildFindings) -> Iterator[Block]:
    """Write all numbers of a build, folded."""
    app = build.app
    texts = [
        ("models", models_text(app) if app.models else None),
        ("selection", selection_text(build.found)),
        ("elimination", elimination_text(app)),
    ]
    facts = [
        f"- {ICONS[text[1]]} {name}: {prose(text[0])}" for name, text in texts if text is not None
    ]
    if app.sizes:
        facts.append(f"- page slack: {slack_text(app.sizes)}")
    facts += [f"- {prose(note)}" for note in notes(build.found)]
    facts.append(
        f"- toolchain {code(app.toolchain)}"
        + (", inputs unchanged since an earlier run" if app.unchanged else "")
    )
    lines = limit_lines(app)
    summary = (
        f"{html_code(middle(app.app, _NAME))} for {html_code(middle(app.target, _NAME))}:"
        f" {word(build.verdict).lower()}"
    )
    head = ["", "<details>", f"<summary>{summary}, all numbers</summary>", "", *facts]
    table = ["", *_LIMITS] if lines else []
    yield Block(4, [*head, *table], [_limit(line) for line in lines], ["", "</details>"])
