"""Write a gate's result as a comment on a pull request: verdict, numbers, causes, what to do.

All other numbers are folded, and the whole fits GitHub's limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sizeguard.gate.gate_result import (
    FAIL,
    INCONCLUSIVE,
    NOT_RUN,
    PASS,
    REVIEWED,
    UNUSED,
    Base,
    Cause,
    Check,
    GateResult,
)
from sizeguard.report.gate.comment_blocks import COMMENT, Block, fitted
from sizeguard.report.gate.gate_findings import GateFinding, findings
from sizeguard.report.gate.gate_words import (
    CheckLine,
    Placed,
    broken_claims,
    cause_name,
    elimination_text,
    headline,
    is_urgent,
    limit_lines,
    models_text,
    notes,
    offer_text,
    others,
    placed,
    selection_text,
    todo,
    verdict_line,
    waiver_line,
    word,
)
from sizeguard.report.gate.moved_code import changed, moved_lines
from sizeguard.report.verify.verify_words import claim_message
from sizeguard.report.writers.markdown import code, fenced, html_code, instruction, prose, row
from sizeguard.report.writers.printable import middle

MARKER = "<!-- sizeguard gate -->"  # later runs find the comment by it
CAUSES = 5
ICONS = {PASS: "✅", FAIL: "❌", INCONCLUSIVE: "⚠️", NOT_RUN: "➖"}
_NAME = 80
_NAMED = 3  # builds of a sentence


def markdown_text(result: GateResult, limit: int = COMMENT) -> str:
    """Write the comment, at most `limit` bytes in UTF-8."""
    return fitted([*_blocks(result)], limit)


def _blocks(result: GateResult) -> Iterator[Block]:
    found = findings(result)
    builds, outside = placed(result, found)
    verdict, _, text = verdict_line(result).partition("  ")
    yield Block(
        0,
        [
            MARKER,
            f"### {ICONS[result.verdict]} Size gate: {verdict.lower()}, {prose(text)}",
            "",
            *_base(result),
        ],
    )
    yield from _changed_terms(found)
    yield from _matrix(builds)
    yield from _growths(result)
    if outside:
        yield Block(
            1,
            ["", "**What could not be done**", ""],
            [line for finding in outside for line in _bullets(finding)],
        )
    for build in builds:
        if build.verdict != PASS:
            yield from _failing(build)
    yield from _waivers(result)
    yield from _offers(result)
    yield from (block for build in builds for block in _details(build))


def _base(result: GateResult) -> Iterator[str]:
    parts: list[str] = []
    if result.base and result.base.commit:
        parts += _counted_from(result, result.base)
    elif result.base:
        parts.append(prose(f"There is no base: {result.base.text}."))
    if result.head:
        parts.append(f"Measured at {code(result.head[:7])}.")
    if result.skipped:
        parts.append(f"Nothing was measured: {prose(result.skipped)}.")
    if parts:
        yield " ".join(parts)


def _counted_from(result: GateResult, base: Base) -> Iterator[str]:
    """Say which builds are judged by growth since the merge base, and which by their baselines."""
    of = f", merge base with {code(base.ref)}" if base.ref else ""
    reviewed = [f"{app.app} {app.target}" for app in result.apps if app.base == REVIEWED]
    if not reviewed:
        yield f"Growth is counted from {code(base.commit[:7])}{of}."
        return
    yield f"The base is {code(base.commit[:7])}{of}."
    if len(reviewed) == len(result.apps):
        yield "Growth is judged by the reviewed baselines."
    else:
        names = ", ".join(code(middle(name, _NAME)) for name in reviewed[:_NAMED])
        more = len(reviewed) - _NAMED
        names += f" and {more:,} more" if more > 0 else ""
        yield f"Growth of {names} is judged by the reviewed baseline, of others by the merge base."


def _changed_terms(found: Sequence[GateFinding]) -> Iterator[Block]:
    """List how the change's terms differ from the base's; loosened ones are bold."""
    terms = [finding for finding in found if finding.rule.startswith("policy/")]
    rows: list[str] = []
    for finding in terms:
        if finding.verdict != PASS:
            rows += _bullets(finding)
            continue
        what, _, text = finding.message.partition(": ")
        shown = f"**{prose(what)}**" if finding.rule == "policy/loosened" else prose(what)
        place = f" ({code(finding.place)})" if finding.place else ""
        rows.append(f"- {shown}: {prose(text)}{place}")
    if rows:
        yield Block(0, ["", "**Terms that this change sets**", ""], rows)


def _growths(result: GateResult) -> Iterator[Block]:
    """Write how much each build grew since the merge base, whatever it is judged by."""
    grown = [(app, app.growth_since_base) for app in result.apps if app.growth_since_base]
    if not grown:
        return
    head = ["", row(["growth since the merge base", "load", "ram", "file"]), "|---|---:|---:|---:|"]
    rows = [
        row(
            [
                code(middle(f"{app.app} {app.target}", _NAME)),
                *(f"{size:+,}" if size else "±0" for size in (by.load, by.ram, by.file)),
            ]
        )
        for app, by in grown
    ]
    yield Block(1, head, rows)


def _matrix(builds: Sequence[Placed]) -> Iterator[Block]:
    """Write a table of apps × targets."""
    if not builds:
        return
    targets = list(dict.fromkeys(build.app.target for build in builds))
    names = list(dict.fromkeys(build.app.app for build in builds))
    cells = {(build.app.app, build.app.target): _cell(build) for build in builds}
    head = [
        "",
        row(["load", *(code(middle(target, _NAME)) for target in targets)]),
        row(["---", *(["---:"] * len(targets))]),
    ]
    rows = [
        row([code(middle(name, _NAME)), *(cells.get((name, target), "") for target in targets)])
        for name in names
    ]
    yield Block(0, head, rows)


def _cell(build: Placed) -> str:
    app = build.app
    if app.sizes is None:
        return f"{ICONS[build.verdict]} –"
    delta = f" ({app.sizes.load - app.old_sizes.load:+,})" if app.old_sizes else ""
    return f"{ICONS[build.verdict]} {app.sizes.load:,}{delta.replace('(+0)', '(±0)')}"


def _bullets(finding: GateFinding) -> Iterator[str]:
    place = f" ({code(finding.place)})" if finding.place else ""
    subject = " ".join(part for part in (finding.app, finding.target) if part)
    subject = f"{code(subject)}: " if subject and finding.rule in ("problem", "waiver") else ""
    yield f"- {ICONS[finding.verdict]} {subject}{prose(finding.message)}{place}"
    yield from _advice(finding)


def _advice(finding: GateFinding) -> Iterator[str]:
    if finding.advice:
        yield f"  - {instruction(finding.advice)}"


def _failing(build: Placed) -> Iterator[Block]:
    app = build.app
    text = headline(app, build.found, "").strip().replace("`", "")
    bad = [line for line in limit_lines(app) if line.verdict != PASS]
    yield Block(
        1, ["", f"#### {ICONS[build.verdict]} {code(app.app)} for {code(app.target)} {prose(text)}"]
    )
    table = [Block(1, ["", *_LIMITS], [_limit(line) for line in bad])] if bad else []
    if not is_urgent(build):
        yield from table
    rows = [line for finding in others(build.found) for line in _bullets(finding)]
    claims = broken_claims(app)
    rows += [f"- {ICONS[claim.verdict]} {prose(claim_message(claim))}" for claim in claims]
    for finding in build.found:
        if finding.rule == "elimination" and finding.verdict != PASS:
            rows += [] if claims else [f"- {ICONS[finding.verdict]} {prose(finding.message)}"]
            rows += _advice(finding)
    if rows:
        yield Block(1, [""], rows)
    if is_urgent(build):
        yield from table
    if changed(app):
        yield _causes(changed(app), 2)
    moved = [f"- {size} bytes: {prose(text)}" for size, text in moved_lines(app)]
    if moved:
        yield Block(2, ["", "**What only changed its operator**", ""], moved)
    yield from (_shares(check) for check in app.checks if check.shares)
    yield from _todo(build)


def _shares(check: Check) -> Block:
    """Write the share of each commit in a metric's creep."""
    title = f"**What {code(check.metric)} crept by since {code(check.since)}**"
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


def _causes(causes: Sequence[Cause], rank: int) -> Block:
    """Write the five largest changes; a last row has the sum of the others."""
    total = sum(cause.delta for cause in causes)
    head = [
        "",
        f"**{'What grew' if total > 0 else 'What changed'}**",
        "",
        row(["change", "operator", "symbol", "bytes"]),
        "|---:|---|---|---:|",
    ]
    rows = [
        row(
            [
                f"{cause.delta:+,}",
                _owner(cause),
                _symbol(cause),
                _unbroken(f"{cause.old:,} → {cause.new:,}"),
            ]
        )
        for cause in causes[:CAUSES]
    ]
    rest = causes[CAUSES:]
    foot = (
        [row([f"{sum(cause.delta for cause in rest):+,}", "", f"{len(rest):,} more changes", ""])]
        if rest
        else []
    )
    return Block(
        rank, head, rows, [*foot, row([f"**{total:+,}**", "", "= the change of the load", ""])]
    )


def _owner(cause: Cause) -> str:
    return "<br>".join(code(middle(text, _NAME)) for text in (cause.operator, cause.dtype) if text)


def _symbol(cause: Cause) -> str:
    """Write the symbol and, below it, its place: one more column would not fit the page."""
    name = (
        code(middle(cause.symbol, _NAME))
        if cause.symbol
        else prose(cause_name(cause))
        if cause_name(cause)
        else ""
    )
    return "<br>".join(
        text for text in (name, code(middle(cause.place, _NAME)) if cause.place else "") if text
    )


def _unbroken(text: str) -> str:
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _todo(build: Placed) -> Iterator[Block]:
    commands = todo(build.app, build.found)
    runnable = [command for command in commands if command.text.startswith("sizeguard ")]
    if runnable:
        width = max(len(command.label) for command in runnable)
        lines = [f"{command.text}{f'  # {command.label}' if width else ''}" for command in runnable]
        yield Block(
            1, ["", "**Do one of**" if len(lines) > 1 else "**What to do**", "", *fenced(lines)]
        )
    rest = [command for command in commands if command not in runnable]
    if rest:
        label = [
            f"- {f'{prose(command.label)}: ' if command.label else ''}{instruction(command.text)}"
            for command in rest
        ]
        yield Block(2, [""], label)


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
            rows += [f"  - {instruction(text)}" for text in (use.message, use.advice) if text]
    yield Block(1 if any(use.verdict != PASS for use in uses) else 3, ["", "**Waivers**", ""], rows)


def _offers(result: GateResult) -> Iterator[Block]:
    rows = []
    for app in result.apps:
        for offer in app.offers:
            place = f" ({code(offer.place)})" if offer.place else ""
            rows.append(f"- {code(f'{app.app} {app.target}')}: {prose(offer_text(offer))}{place}")
    if rows:
        yield Block(3, ["", "**Limits that could be tighter**", ""], rows)


def _details(build: Placed) -> Iterator[Block]:
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
        facts.append(
            f"- page slack: {app.sizes.page_slack:,} bytes until the file on disk grows a page"
            f" ({app.sizes.file:,} now)"
        )
    facts += [f"- {prose(note)}" for note in notes(build.found)]
    facts.append(
        f"- toolchain {code(app.toolchain)}"
        + (", all inputs are those of an earlier run" if app.unchanged else "")
    )
    lines = limit_lines(app)
    summary = (
        f"{html_code(middle(app.app, _NAME))} for {html_code(middle(app.target, _NAME))}:"
        f" {word(build.verdict).lower()}"
    )
    head = ["", "<details>", f"<summary>{summary}, all numbers</summary>", "", *facts]
    table = ["", *_LIMITS] if lines else []
    yield Block(4, [*head, *table], [_limit(line) for line in lines], ["", "</details>"])
