"""Sections of the gate's report on a terminal, below the numbers of a build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sizeguard.claims.verdict import PASS
from sizeguard.gate.causes.growth_result import Cause
from sizeguard.gate.gate_result import AppResult, Check, Command, GateResult, Saving
from sizeguard.gate.policy.terms_result import UNUSED
from sizeguard.report.gate.findings.gate_findings import GateFinding
from sizeguard.report.gate.gate_lines import advice_line, finding_lines, marked
from sizeguard.report.gate.gate_words import (
    cause_name,
    offer_text,
    operator_of,
    others,
    waiver_line,
)
from sizeguard.report.gate.moved_code import changed, dependency_text, file_text, moved_lines
from sizeguard.report.gate.shared.build_findings import BuildFindings, own_claims
from sizeguard.report.screen.cells import cut
from sizeguard.report.screen.fit import wrapped
from sizeguard.report.screen.grid import RowName, distinct
from sizeguard.report.verify.verify_words import claim_message
from sizeguard.report.writers.printable import counted, middle, printable
from sizeguard.report.writers.style import Style

CAUSES = 8  # shown when the gate fails
CLAIMS = 5  # broken claims of a build
_TO_RUN = ": sizeguard "  # before a command in advice
_MOVED = 36  # characters of the name of a piece that moved
SAVINGS = 12  # operators that a selective build saves most of


def changed_terms(found: Iterable[GateFinding], style: Style) -> Iterator[str]:
    """Write how the change's terms differ from the base's; `!` marks loosened terms."""
    terms = [finding for finding in found if finding.rule.startswith("policy/")]
    if not terms:
        return
    yield ""
    yield "changed terms"
    for finding in terms:
        if finding.verdict != PASS:
            yield from finding_lines(finding, style)
            continue
        loosens = finding.rule == "policy/loosened"
        place = f"  {finding.place}" if finding.place else ""
        text = f"  {'!' if loosens else '-'} {printable(finding.message + place)}"
        yield from wrapped(text, 0, style)


def failures(build: BuildFindings, style: Style) -> Iterator[str]:
    """Write the failures that are not sizes: models, selections, claims, builds."""
    found, claims = others(build.own), own_claims(build)
    elimination = [f for f in build.own if f.rule == "elimination" and f.verdict != PASS]
    if found or claims or elimination:
        yield ""
        yield "failures"
    for finding in found:
        yield from finding_lines(finding, style)
    for claim in claims[:CLAIMS]:
        yield from marked(claim.verdict, claim_message(claim), style)
    if len(claims) > CLAIMS:
        yield f"    {len(claims) - CLAIMS:,} more: sizeguard gate --format json"
    for finding in elimination:
        if not claims:
            yield from marked(finding.verdict, finding.message, style)
        yield from advice_line(finding, style)


def changes(app: AppResult, style: Style) -> Iterator[str]:
    """Write the largest changes since the base; they sum to the change of `load`."""
    causes = changed(app)
    yield from _largest(app, causes, style)
    yield from _parts(app, style)
    lines = moved_lines(app, 0 if style.full else _MOVED)
    if lines:
        yield ""
        yield "moved to another operator"
    for size, text in lines[:CAUSES]:
        line = f"  {size:>9}  {printable(text)}"
        yield from [line] if style.full else wrapped(line, 0, style)
    if len(lines) > CAUSES:
        yield f"  {'':>9}  {len(lines) - CAUSES:,} more"


def _largest(app: AppResult, causes: Sequence[Cause], style: Style) -> Iterator[str]:
    if not causes:
        return
    total = sum(cause.delta for cause in causes)
    limit = CAUSES if app.verdict != PASS else 3
    rows = [
        (cause, text, f"{cause.old:,} → {cause.new:,}")
        for cause, text in zip(causes[:limit], cause_texts(causes[:limit], style), strict=True)
    ]
    width = max(len(text) for _, text, _ in rows)
    yield ""
    yield "what grew" if total > 0 else "what changed"
    for cause, text, change in rows:
        line = (
            f"  {style.signed(f'{cause.delta:>+9,}', cause.delta)}  {text:<{width}}  {change:>15}"
        )
        place = printable(cause.place)
        if place and 30 + width + 3 + len(place) <= style.width:
            yield f"{line}   {style.dim(place)}"
        else:
            yield line
            if place:
                yield f"{'':<13}{style.dim(cut(place, style.room(style.width - 13)))}"
    rest = causes[limit:]
    if rest:
        left = sum(cause.delta for cause in rest)
        yield f"  {left:>+9,}  {counted(len(rest), 'more change')}"
    if len(causes) > 1:
        yield f"  {total:>+9,}  = the change of `load`"


def _parts(app: AppResult, style: Style) -> Iterator[str]:
    """Write the growth by source file, and of dependencies with another version."""
    rows = [(row.delta, file_text(row)) for row in app.growth_by_file]
    limit = CAUSES if app.verdict != PASS else 3
    named = any(row.file for row in app.growth_by_file)
    for title, lines in (
        ("by source file", rows if named and len(rows) > 1 else []),
        ("by dependency", [(row.delta, dependency_text(row)) for row in app.growth_by_dependency]),
    ):
        if not lines:
            continue
        yield ""
        yield title
        for delta, text in lines[:limit]:
            shown = style.signed(f"{delta:>+9,}", delta)
            yield f"  {shown}  {cut(printable(text), style.room(style.width - 13))}"
        rest = lines[limit:]
        if rest:
            yield f"  {sum(delta for delta, _ in rest):>+9,}  {len(rest):,} more"


def cause_texts(causes: Sequence[Cause], style: Style) -> list[str]:
    """Describe causes so that each fits a line with its change; different ones stay different.

    aten::convolution  Float  conv_body<float>
    """
    room = style.width - 30
    starts = [_what(cause, room, style) for cause in causes]
    names = [
        RowName(printable(cause_name(cause)), indent=len(what), is_symbol=bool(cause.symbol))
        for cause, what in zip(causes, starts, strict=True)
    ]
    texts = [name.text for name in names] if style.full else distinct(names, room)
    return [f"{what}{text}".rstrip() for what, text in zip(starts, texts, strict=True)]


def _what(cause: Cause, room: int, style: Style) -> str:
    """Write the operator and the dtype before a cause's name; shorten them if it needs the room."""
    width = max(room // 3, 12, room - len(cause_name(cause)) - len(cause.dtype) - 4)
    name = operator_of(cause)
    operator = middle(name, style.room(min(width, 30))) if name else ""
    dtype = middle(cause.dtype, style.room(12)) if cause.dtype else ""
    return "".join(f"{part}  " for part in (operator, dtype) if part)


def creep(app: AppResult, style: Style) -> Iterator[str]:
    """Write the shares of commits in metrics that crept too far."""
    for check in app.checks:
        if check.shares:
            yield from creep_shares(check, style)


def creep_shares(check: Check, style: Style) -> Iterator[str]:
    """Write the share of each commit in a metric's creep."""
    yield ""
    yield f"creep of `{printable(check.metric)}` since {printable(check.since)}"
    for share in check.shares:
        text = (
            f"{printable(share.commit[:11]):<11} {printable(share.date):<10} "
            f" {printable(share.subject)}"
        )
        delta = style.signed(f"{share.delta:>+9,}", share.delta)
        yield f"  {delta}  {cut(text, style.room(style.width - 13))}"
    yield (
        f"  {sum(share.delta for share in check.shares):>+9,}  = {check.base or 0:,} →"
        f" {check.actual:,}"
    )


def commands_to_try(commands: Sequence[Command], style: Style) -> Iterator[str]:
    """Write commands uncut: people copy them."""
    if not commands:
        return
    yield ""
    yield "do one of" if len(commands) > 1 else "next steps"
    before = None
    for command in commands:
        label = printable(command.label) if command.label != before else ""
        before = command.label
        text = printable(command.text)
        reason, _, words = text.rpartition(_TO_RUN)
        if command.label:
            yield f"  {label:<16} {text}"
        elif style.full or len(text) + 2 <= style.width or not reason:
            yield f"  {text}"
        else:
            yield from wrapped(f"  {reason}:", 0, style)
            yield f"    {_TO_RUN[2:]}{words}"


def waivers(result: GateResult, style: Style) -> Iterator[str]:
    """Write each waiver that was used or fails."""
    uses = [use for use in result.waivers if use.state != UNUSED or use.verdict != PASS]
    if not uses:
        return
    yield ""
    yield "waivers"
    for use in sorted(uses, key=lambda use: use.verdict == PASS):
        yield from marked(use.verdict, waiver_line(use), style)
        if use.verdict != PASS:
            yield from wrapped(f"    {printable(use.message)}", 0, style)
            if use.advice:
                yield f"    → {printable(use.advice)}"


def offers(result: GateResult, style: Style) -> Iterator[str]:
    """Write limits that could be tighter."""
    found = [(app, offer) for app in result.apps for offer in app.offers]
    if found:
        yield ""
        yield "limits that could be tighter"
    for app, offer in found:
        place = f"  {offer.place}" if offer.place else ""
        yield from wrapped(
            f"  {printable(f'{app.app} {app.target}: {offer_text(offer)}{place}')}", 0, style
        )


def all_savings(result: GateResult) -> Iterator[str]:
    """Write the bytes that selections saved, for the first target of each app."""
    seen: set[str] = set()
    for app in result.apps:
        if app.app in seen or not app.savings or not app.full or not app.sizes:
            continue
        seen.add(app.app)
        yield ""
        yield from _saved(app, app.full.load, app.sizes.load)


def _saved(app: AppResult, full: int, selective: int) -> Iterable[str]:
    operators = [row for row in app.savings if row.is_operator]
    no_operators = [row for row in app.savings if not row.is_operator]
    yield (
        f"{'savings of the selection, by operator':<48} {'full':>9}"
        f" {cut(printable(app.app), 10):>10} {'saved':>10}"
    )
    for row in operators[:SAVINGS]:
        yield _saving(row.operator, row)
    rest = operators[SAVINGS:]
    if rest:
        yield _saving(f"{len(rest)} more operators", _sum(rest))
    for row in no_operators:
        yield _saving(f"not an operator: {row.operator.strip('()')}", row)
    yield _saving("all", Saving("", full, selective))
    # Aliases share a row.
    count = sum(len(row.operator.split(", ")) for row in operators)
    kept = sum(len(row.operator.split(", ")) for row in operators if row.selective)
    yield f"  {count} operators in full, {kept} of them in {printable(app.app)}"


def _saving(name: str, row: Saving) -> str:
    return f"  {cut(printable(name), 46):<46} {row.full:>9,} {row.selective:>10,} {row.saved:>10,}"


def _sum(rows: Iterable[Saving]) -> Saving:
    listed = list(rows)
    return Saving("", sum(row.full for row in listed), sum(row.selective for row in listed))
