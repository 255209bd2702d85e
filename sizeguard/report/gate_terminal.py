"""Turns a gate's result into what a person reads on a terminal: verdict, numbers, cause, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from sizeguard.gate.result import FAIL, INCONCLUSIVE, PASS, UNUSED, AppResult, Cause, Check, Command, GateResult, Saving
from sizeguard.report.gate_findings import MARKS, Finding, findings
from sizeguard.report.gate_texts import (
    Line,
    Placed,
    base_text,
    broken_claims,
    cause_name,
    elimination_text,
    headline,
    limit_lines,
    models_text,
    offer_text,
    others,
    placed,
    selection_text,
    todo,
    verdict_line,
    waiver_line,
    word,
)
from sizeguard.report.names import middle, printable, without_parameters
from sizeguard.report.style import NONE, Style
from sizeguard.report.verify_ci import claim_message

CAUSES = 8  # shown of what grew
CLAIMS = 5
SAVINGS = 12
_NUMBER = 11  # characters: three columns hold the sentence on claims
_COMMAND = re.compile(r"^((?:\s|\x1b\[\d+m)*)::")
_COLOURS = {PASS: 32, FAIL: 31, INCONCLUSIVE: 33}


def terminal_text(result: GateResult, style: Style) -> str:
    return "\n".join(style.finish(_inert(line)) for line in _lines(result, style))


def _inert(line: str) -> str:
    """CI runners read lines that begin with :: or hold ##[ as commands, also in a job's log; names can look so."""
    line = line.replace("##", "# #") if "##" in line else line
    return _COMMAND.sub(r"\1· ::", line) if "::" in line else line


def _lines(result: GateResult, style: Style) -> Iterator[str]:
    builds, outside = placed(result, findings(result))
    alone = builds[0] if len(builds) == 1 and not outside else None
    # A waiver that fails is of no build, so one build's headline would not say why the gate fails.
    if alone and alone.verdict == result.verdict:
        yield from _head(word(result.verdict), headline(alone.app, alone.found, alone.app.app), result, style)
    else:
        verdict, _, text = verdict_line(result).partition("  ")
        yield from _head(verdict, text, result, style)
    if result.skipped:
        yield f"  nothing was measured: {printable(result.skipped)}"
    for finding in outside:
        yield from _finding(finding, style)
    if alone:
        yield from _block(alone, style)
    elif builds:
        yield ""
        yield from _matrix(builds, style)
        yield from _many(builds, style)
    yield from _waivers(result, style)
    yield from _offers(result, style)
    if result.verdict == PASS and not result.skipped:
        yield from _savings(result)


def _head(verdict: str, text: str, result: GateResult, style: Style) -> Iterator[str]:
    """The verdict, and on the right what it is counted from."""
    verdict_ = style.bold(verdict)
    if style.colour:
        verdict_ = f"\x1b[{_COLOURS[result.verdict]}m{verdict_}"
    left = f"{verdict}  {printable(text)}"
    base = printable(base_text(result))
    room = style.width - len(base)
    shown_ = f"{verdict_}  {printable(text)}"
    if base and len(left) + 2 <= room:
        yield f"{shown_}{' ' * (room - len(left))}{style.dim(base)}"
    else:
        yield from _wrapped(shown_, len(shown_) - len(left), style)
        if base:
            yield f"  {style.dim(_cut(base, style.width - 2))}"


def _wrapped(line: str, hidden: int, style: Style) -> Iterator[str]:
    """A sentence at most as wide as the terminal. hidden: characters of it that take no room."""
    width = style.width
    indent = "      "
    while len(line) - hidden > width:
        cut = line.rfind(" ", len(indent) + 20, width + hidden + 1)
        cut = cut if cut > 0 else width + hidden
        yield line[:cut]
        line, hidden = indent + line[cut:].lstrip(), 0
    yield line


def _many(builds: Sequence[Placed], style: Style) -> Iterator[str]:
    """What does not pass in full; of what passes the limit with the least room."""
    for build in builds:
        if build.verdict != PASS:
            yield ""
            name = f"{build.app.app} {build.app.target}"
            yield from _wrapped(f"{word(build.verdict)}  {printable(headline(build.app, build.found, name))}", 0, style)
            yield from _block(build, style)
    rows = [(build.app, line) for build in builds if build.verdict == PASS if (line := _least(build.app))]
    if not rows:
        return
    yield ""
    name_width = max(len(_cut(printable(f"{app.app} {app.target}"), 40)) for app, _ in rows)
    yield f"  {'least room':<{name_width}}{'headroom':>{_NUMBER + 2}}"
    for app, line in rows:
        text = f"{printable(line.name)}, {line.actual:,} of {line.limit or 0:,}, {printable(line.rule)}"
        name = _cut(printable(f"{app.app} {app.target}"), 40)
        start = f"  {name:<{name_width}}{line.headroom or 0:>+{_NUMBER + 2},}  {_mark(PASS, style)}  "
        yield start + _cut(text, style.width - name_width - _NUMBER - 9)


def _least(app: AppResult) -> Line | None:
    """The limit that is reached first: the smallest part of it is left."""
    lines = [line for line in limit_lines(app) if line.headroom is not None and line.limit]
    return min(lines, key=lambda line: (line.headroom or 0) / (line.limit or 1), default=None)


def _matrix(builds: Sequence[Placed], style: Style) -> Iterator[str]:
    """Apps by targets: the verdict, the loaded bytes and their change."""
    targets = list(dict.fromkeys(build.app.target for build in builds))
    names = list(dict.fromkeys(build.app.app for build in builds))
    cells = {(build.app.app, build.app.target): build for build in builds}
    first = min(max(len(printable(name)) for name in names), 24) + 2
    width = max(22, min(max(len(printable(target)) for target in targets) + 3, 30))
    # More targets than fit beside each other go below.
    beside = max(1, (style.width - first - 2) // width)
    for start in range(0, len(targets), beside):
        part = targets[start : start + beside]
        yield f"  {'load':<{first}}" + "".join(f"{_cut(printable(target), width - 2):<{width}}" for target in part)
        for name in names:
            text = "".join(_cell(cells.get((name, target)), width, style) for target in part)
            yield f"  {_cut(printable(name), first - 2):<{first}}{text}"


def _cell(build: Placed | None, width: int, style: Style) -> str:
    if build is None:
        return " " * width
    sizes, old = build.app.sizes, build.app.old_sizes
    text, delta = (f"{sizes.load:,}", sizes.load - old.load if old else 0) if sizes else (NONE, 0)
    change = "" if not sizes or not old else f" {delta:+,}" if delta else " ±0"
    return f"{_mark(build.verdict, style)} {text}{style.signed(change, delta)}" + " " * (width - 2 - len(text) - len(change))


def _mark(verdict: str, style: Style) -> str:
    mark = MARKS[verdict]
    return f"\x1b[{_COLOURS[verdict]}m{mark}\x1b[0m" if style.colour and verdict in _COLOURS else mark


def _block(build: Placed, style: Style) -> Iterator[str]:
    app = build.app
    if app.unchanged:
        yield "  all inputs are those of an earlier run: shown is what was found then"
    lines = limit_lines(app)
    width = max([20, *(min(len(printable(line.name)), 34) for line in lines)]) + 2
    if lines:
        yield f"  {'':<{width}}{'actual':>{_NUMBER}}{'limit':>{_NUMBER}}{'headroom':>{_NUMBER}}"
    for line in lines:
        yield _limit(line, width, style)
    for name, text in (("models", models_text(app) if app.models else None), ("selection", selection_text(build.found)),
                       ("elimination", elimination_text(app))):  # fmt: skip
        if text is not None:
            yield f"  {name:<{width}}{_cut(printable(text[0]), 50):<{3 * _NUMBER}}  {_mark(text[1], style)}"
    if app.sizes:
        slack = f"{app.sizes.page_slack:,} bytes until the file on disk grows a page ({app.sizes.file:,} now)"
        yield f"  {'page slack':<{width}}{slack}"
    yield from _wrong(build, style)
    yield from _grown(app, style)
    yield from _creep(app, style)
    yield from _commands(todo(app, build.found), style)


def _limit(line: Line, width: int, style: Style) -> str:
    limit = NONE if line.limit is None else f"{line.limit:,}"
    headroom = NONE if line.headroom is None else f"{line.headroom:+,}" if line.headroom else "0"
    room = style.width - width - 3 * _NUMBER - 7
    rule = style.dim(_cut(printable(line.rule), room)) if room > 12 else ""
    name = middle(line.name, width - 2)
    return f"  {name:<{width}}{line.actual:>{_NUMBER},}{limit:>{_NUMBER}}{headroom:>{_NUMBER}}  {_mark(line.verdict, style)}  {rule}"


def _wrong(build: Placed, style: Style) -> Iterator[str]:
    """What is wrong besides the sizes: models, selections, claims, builds."""
    found, claims = others(build.found), broken_claims(build.app)
    elimination = [f for f in build.found if f.rule == "elimination" and f.verdict != PASS]
    if found or claims or elimination:
        yield ""
        yield "what does not hold"
    for finding in found:
        yield from _finding(finding, style)
    for claim in claims[:CLAIMS]:
        yield from _marked(claim.verdict, claim_message(claim), style)
    if len(claims) > CLAIMS:
        yield f"    {len(claims) - CLAIMS:,} more: sizeguard verify {printable(build.app.folder)}"
    for finding in elimination:
        if not claims:
            yield from _marked(finding.verdict, finding.message, style)
        yield from _advice(finding, style)


def _finding(finding: Finding, style: Style) -> Iterator[str]:
    place = f"  {finding.place}" if finding.place else ""
    yield from _marked(finding.verdict, finding.message + place, style)
    yield from _advice(finding, style)


def _advice(finding: Finding, style: Style) -> Iterator[str]:
    """Whole, however long: it may be a command to copy."""
    if finding.advice:
        yield f"    → {printable(finding.advice)}"


def _marked(verdict: str, text: str, style: Style) -> Iterator[str]:
    mark = _mark(verdict, style)
    yield from _wrapped(f"  {mark} {printable(text)}", len(mark) - 1, style)


def _grown(app: AppResult, style: Style) -> Iterator[str]:
    if not app.causes:
        return
    total = sum(cause.delta for cause in app.causes)
    limit = CAUSES if app.verdict != PASS else 3
    rows = [(cause, *_cause(cause, style)) for cause in app.causes[:limit]]
    width = max(len(text) for _, text, _ in rows)
    yield ""
    yield "what grew" if total > 0 else "what changed"
    for cause, text, change in rows:
        line = f"  {style.signed(f'{cause.delta:>+9,}', cause.delta)}  {text:<{width}}  {change:>15}"
        place = printable(cause.place)
        if place and 30 + width + 3 + len(place) <= style.width:
            yield f"{line}   {style.dim(place)}"
        else:
            yield line
            if place:
                yield f"{'':<13}{style.dim(_cut(place, style.width - 13))}"
    rest = app.causes[limit:]
    if rest:
        yield f"  {sum(cause.delta for cause in rest):>+9,}  {len(rest):,} more changes"
    if len(app.causes) > 1:
        yield f"  {total:>+9,}  = the change of `load`"


def _cause(cause: Cause, style: Style) -> tuple[str, str]:
    """(aten::convolution  Float  conv_body<float>, 2,104 → 3,244): together with the change they fit a line."""
    operator = middle(cause.operator, 30) if cause.operator else ""
    dtype = middle(cause.dtype, 12) if cause.dtype else ""
    what = "  ".join(part for part in (operator, dtype) if part)
    room = style.width - 13 - 17 - (len(what) + 2 if what else 0)
    name = cause_name(cause)
    symbol = middle(_short(name, max(room, 16)), max(room, 16)) if name else ""
    return "  ".join(part for part in (what, symbol) if part), f"{cause.old:,} → {cause.new:,}"


def _short(name: str, width: int) -> str:
    """Without its parameters, if it is too long with them."""
    return name if len(name) <= width else without_parameters(name)


def _creep(app: AppResult, style: Style) -> Iterator[str]:
    for check in app.checks:
        if check.shares:
            yield ""
            yield f"what `{printable(check.metric)}` crept by since {printable(check.since)}"
            yield from _shares(check, style)


def _shares(check: Check, style: Style) -> Iterator[str]:
    for share in check.shares:
        text = f"{printable(share.commit[:11]):<11} {printable(share.date):<10}  {printable(share.subject)}"
        yield f"  {style.signed(f'{share.delta:>+9,}', share.delta)}  {_cut(text, style.width - 13)}"
    yield f"  {sum(share.delta for share in check.shares):>+9,}  = {check.base or 0:,} → {check.actual:,}"


def _commands(commands: Sequence[Command], style: Style) -> Iterator[str]:
    """Commands are not cut: they are there to be copied."""
    if not commands:
        return
    yield ""
    yield "do one of" if len(commands) > 1 else "what to do"
    before = None
    for command in commands:
        label = printable(command.label) if command.label != before else ""
        before = command.label
        yield f"  {label:<16} {printable(command.text)}" if command.label else f"  {printable(command.text)}"


def _waivers(result: GateResult, style: Style) -> Iterator[str]:
    uses = [use for use in result.waivers if use.state != UNUSED or use.verdict != PASS]
    if not uses:
        return
    yield ""
    yield "waivers"
    for use in sorted(uses, key=lambda use: use.verdict == PASS):
        yield from _marked(use.verdict, waiver_line(use), style)
        if use.verdict != PASS:
            yield from _wrapped(f"    {printable(use.message)}", 0, style)
            if use.advice:
                yield f"    → {printable(use.advice)}"


def _offers(result: GateResult, style: Style) -> Iterator[str]:
    offers = [(app, offer) for app in result.apps for offer in app.offers]
    if offers:
        yield ""
        yield "limits that could be tighter"
    for app, offer in offers:
        place = f"  {offer.place}" if offer.place else ""
        yield from _wrapped(f"  {printable(f'{app.app} {app.target}: {offer_text(offer)}{place}')}", 0, style)


def _savings(result: GateResult) -> Iterator[str]:
    """What the selections saved, for the first target of each app."""
    seen: set[str] = set()
    for app in result.apps:
        if app.app in seen or not app.savings or not app.full or not app.sizes:
            continue
        seen.add(app.app)
        yield ""
        yield from _saved(app, app.full.load, app.sizes.load)


def _saved(app: AppResult, full: int, selective: int) -> Iterable[str]:
    operators = [row for row in app.savings if row.is_operator]
    others = [row for row in app.savings if not row.is_operator]
    yield f"{'what the selection saved, by operator':<48} {'full':>9} {_cut(printable(app.app), 10):>10} {'saved':>10}"
    for row in operators[:SAVINGS]:
        yield _saving(row.operator, row)
    rest = operators[SAVINGS:]
    if rest:
        yield _saving(f"{len(rest)} more operators", _sum(rest))
    for row in others:
        yield _saving(f"not an operator: {row.operator.strip('()')}", row)
    yield _saving("all", Saving("", full, selective))
    # Aliases share a row.
    count = sum(len(row.operator.split(", ")) for row in operators)
    kept = sum(len(row.operator.split(", ")) for row in operators if row.selective)
    yield f"  {count} operators in full, {kept} of them in {printable(app.app)}"


def _saving(name: str, row: Saving) -> str:
    return f"  {_cut(printable(name), 46):<46} {row.full:>9,} {row.selective:>10,} {row.saved:>10,}"


def _sum(rows: Iterable[Saving]) -> Saving:
    listed = list(rows)
    return Saving("", sum(row.full for row in listed), sum(row.selective for row in listed))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: max(width - 1, 1)]}…"
