"""Write a gate's result for a terminal: verdict, numbers, causes, commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sizeguard.claims.verdict import PASS
from sizeguard.gate.gate_result import PARENT, AppResult, GateResult
from sizeguard.report.gate.findings.finding_texts import growth_text, since_text
from sizeguard.report.gate.findings.gate_findings import findings
from sizeguard.report.gate.gate_lines import (
    COLOURS,
    finding_lines,
    mark,
    number_width,
    numbers,
    short_names,
)
from sizeguard.report.gate.gate_sections import (
    all_savings,
    changed_terms,
    changes,
    commands_to_try,
    creep,
    failures,
    offers,
    waivers,
)
from sizeguard.report.gate.gate_words import (
    CheckLine,
    base_text,
    elimination_text,
    headline,
    limit_lines,
    models_text,
    notes,
    selection_text,
    slack_text,
    todo,
    verdict_line,
    word,
)
from sizeguard.report.gate.shared.build_findings import (
    BuildFindings,
    findings_by_build,
    has_own_growth,
    is_urgent,
)
from sizeguard.report.gate.shared.shared_builds import grouped_findings
from sizeguard.report.gate.shared.terminal_shared import shared_blocks
from sizeguard.report.screen.cells import cut
from sizeguard.report.screen.fit import screen_lines, wrapped
from sizeguard.report.screen.grid import RowName, distinct
from sizeguard.report.writers.printable import counted, printable
from sizeguard.report.writers.style import NONE, Style

_NOTES = 12  # lines of passing builds
_MOST = 12  # lines of builds; of more, those with the least room or different growth are shown
_BUILD = 40  # characters of an app and its target
_NUMBER = 12  # characters: the sentence on claims fits three columns


def terminal_text(result: GateResult, style: Style) -> str:
    """Write the whole result."""
    return "\n".join(screen_lines(_lines(result, style), style))


def _lines(result: GateResult, style: Style) -> Iterator[str]:
    found = findings(result)
    builds, outside = findings_by_build(result, found)
    alone = builds[0] if len(builds) == 1 and not outside else None
    # A failing waiver belongs to no build, so a build's headline cannot explain the failure.
    if alone and alone.verdict == result.verdict:
        yield from _head(
            word(result.verdict), headline(alone.app, alone.found, alone.app.app), result, style
        )
    else:
        verdict, _, text = verdict_line(result).partition("  ")
        yield from _head(verdict, text, result, style)
    if result.skipped:
        yield f"  nothing was measured: {printable(result.skipped)}"
    terms = list(changed_terms(found, style))
    yield from terms
    if terms and (outside or alone):
        yield ""
    parts = grouped_findings(builds, outside)
    for finding in parts.outside:
        yield from finding_lines(finding, style)
    if alone:
        yield from _block(alone, style)
    elif builds:
        yield ""
        yield from _matrix(builds, style)
        yield from _growths(builds, style)
    yield from shared_blocks(parts, style)
    if not alone:
        yield from _many(parts.builds, style)
    yield from waivers(result, style)
    yield from offers(result, style)
    if result.verdict == PASS and not result.skipped:
        yield from all_savings(result)


def _head(verdict: str, text: str, result: GateResult, style: Style) -> Iterator[str]:
    """Write the verdict and, on the right, the base of growth."""
    painted = style.bold(verdict)
    if style.colour:
        painted = f"\x1b[{COLOURS[result.verdict]}m{painted}"
    plain = f"{verdict}  {printable(text)}"
    base = printable(base_text(result))
    room = style.width - len(base)
    line = f"{painted}  {printable(text)}"
    if base and len(plain) + 2 <= room:
        yield f"{line}{' ' * (room - len(plain))}{style.dim(base)}"
    else:
        yield from wrapped(line, len(line) - len(plain), style)
        if base:
            yield f"  {style.dim(cut(base, style.room(style.width - 2)))}"


def _many(builds: Sequence[BuildFindings], style: Style) -> Iterator[str]:
    """Write failing builds in full, and the limit with the least room of each passing build."""
    for build in builds:
        if build.verdict != PASS:
            yield ""
            name = f"{build.app.app} {build.app.target}"
            yield from wrapped(
                f"{word(build.verdict)}  {printable(headline(build.app, build.own, name))}",
                0,
                style,
            )
            yield from _block(build, style)
    passing = [build for build in builds if build.verdict == PASS]
    all_said = ((build.app.app, note) for build in passing for note in notes(build.found))
    said = [*dict.fromkeys(all_said)]
    if said:
        yield ""
    for app, note in said[:_NOTES]:
        yield from wrapped(f"  ! {printable(f'{app}: {note}')}", 0, style)
    if len(said) > _NOTES:
        yield f"    {len(said) - _NOTES:,} more: sizeguard gate --format json"
    yield from _least_room([build.app for build in passing], style)


def _least_room(apps: Iterable[AppResult], style: Style) -> Iterator[str]:
    """Write the limit with the least room of each build; of many builds, those with the least."""
    rows = [(app, line) for app in apps if (line := _least(app))]
    if not rows:
        return
    more = len(rows) - _MOST
    if more > 0:
        rows = sorted(rows, key=lambda each: _room_of(each[1]))[:_MOST]
    yield ""
    names = _build_names([app for app, _ in rows], style)
    name_width = max(map(len, ("least room", *names)))
    yield f"  {'least room':<{name_width}}{'headroom':>{_NUMBER + 2}}"
    for name, (_, line) in zip(names, rows, strict=True):
        text = f"{printable(line.name)}, {line.actual:,} of {line.limit or 0:,}"
        room = style.room(style.width - name_width - _NUMBER - 9)
        whole = f"{text}, {printable(line.rule)}"
        text = whole if len(whole) <= room else text
        start = (
            f"  {name:<{name_width}}{line.headroom or 0:>+{_NUMBER + 2},}  {mark(PASS, style)}  "
        )
        if len(text) <= room:
            yield start + text
        else:  # numbers are never shortened
            yield start.rstrip()
            yield f"      {text}"
    if more > 0:
        yield f"  {counted(more, 'more build')} with more room: sizeguard gate --format json"


def _build_names(apps: Sequence[AppResult], style: Style) -> list[str]:
    """Name builds by app and target; both are shortened, so that different builds differ."""
    short = zip(
        short_names((app.app for app in apps), _BUILD // 2, style),
        short_names((app.target for app in apps), _BUILD // 2 - 1, style),
        strict=True,
    )
    whole = [printable(f"{app.app} {app.target}") for app in apps]
    return [
        name if len(name) <= _BUILD else f"{app} {target}"
        for name, (app, target) in zip(whole, short, strict=True)
    ]


def _room_of(line: CheckLine) -> float:
    """Return the headroom relative to the limit."""
    return (line.headroom or 0) / (line.limit or 1)


def _least(app: AppResult) -> CheckLine | None:
    """Find the limit with the smallest relative headroom."""
    lines = [line for line in limit_lines(app) if line.headroom is not None and line.limit]
    return min(lines, key=_room_of, default=None)


def _matrix(builds: Sequence[BuildFindings], style: Style) -> Iterator[str]:
    """Write a table of apps by targets: verdict, loaded bytes and their change."""
    targets = list(dict.fromkeys(build.app.target for build in builds))
    names = list(dict.fromkeys(build.app.app for build in builds))
    cells = {(build.app.app, build.app.target): build for build in builds}
    shown_names, shown_targets = short_names(names, 24, style), short_names(targets, 27, style)
    first = max(map(len, ("load", *shown_names))) + 2
    sizes = [sum(map(len, _sizes(build))) + 4 for build in builds]  # with a mark and spaces
    width = max(22, *sizes, *(len(target) + 3 for target in shown_targets))
    # Targets that do not fit side by side go below.
    beside = max(1, (style.width - first - 2) // width)
    for start in range(0, len(targets), beside):
        part = targets[start : start + beside]
        heads = shown_targets[start : start + beside]
        yield f"  {'load':<{first}}" + "".join(f"{target:<{width}}" for target in heads)
        for name, shown in zip(names, shown_names, strict=True):
            text = "".join(_cell(cells.get((name, target)), width, style) for target in part)
            yield f"  {shown:<{first}}{text}"


def _growths(builds: Sequence[BuildFindings], style: Style) -> Iterator[str]:
    """Write each build's growth since the merge base, even if checks use another base."""
    grown = [build.app for build in builds if build.app.growth_since_base is not None]
    grown = [app for app in grown if app.base != PARENT]  # then HEAD is the merge base
    if not grown:
        return
    yield ""
    yield f"  growth since the {since_text(grown)}, in bytes"
    names = _build_names(grown, style)
    named = [(name, growth_text(app)) for name, app in zip(names, grown, strict=True)]
    lines = _alike(named) if len(named) > _MOST else named
    width = max(len(name) for name, _ in lines) + 2
    for name, text in lines:
        yield f"  {name:<{width}}{text}"


def _alike(lines: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Join builds with equal texts: camera x86_64-linux and 27 more."""
    found: dict[str, list[str]] = {}
    for name, text in lines:
        found.setdefault(text, []).append(name)
    return [
        (f"{names[0]} and {len(names) - 1:,} more" if len(names) > 1 else names[0], text)
        for text, names in found.items()
    ]


def _cell(build: BuildFindings | None, width: int, style: Style) -> str:
    if build is None:
        return " " * width
    text, change = _sizes(build)
    painted = style.signed(change, int(change.replace(",", "") or 0))
    end = " " * (width - 2 - len(text) - len(change))
    return f"{mark(build.verdict, style)} {text}{painted}{end}"


def _sizes(build: BuildFindings) -> tuple[str, str]:
    """Return a build's loaded bytes and their change as texts; the change may be empty."""
    sizes, old = build.app.sizes, build.app.old_sizes
    if not sizes:
        return NONE, ""
    return f"{sizes.load:,}", f" {sizes.load - old.load:+,}" if old else ""


# More than 40 lines: the lines of a block, from top to bottom.
def _block(build: BuildFindings, style: Style) -> Iterator[str]:
    app = build.app
    if app.unchanged:
        made = "" if app.folder else ", whose build is gone; --again makes it"
        yield f"  inputs unchanged since an earlier run; this is the result of that run{made}"
    if is_urgent(build):
        yield from failures(build, style)
        yield ""
    lines = limit_lines(app)
    longest = style.room(34)
    width = max([20, *(min(len(printable(line.name)), longest) for line in lines)]) + 1
    if not style.full:
        width = min(width, style.width - 3 * number_width(style) - 5)
    if lines:
        yield f"  {'':<{width}}{numbers(('actual', 'limit', 'headroom'), style)}"
    names = distinct([RowName(printable(line.name)) for line in lines], style.room(width - 1))
    for line, name in zip(lines, names, strict=True):
        yield from _limit(line, name, width, style)
    texts = [
        ("models", models_text(app) if app.models else None),
        ("selection", selection_text(build.found)),
        ("elimination", elimination_text(app)),
    ]
    for name, text in texts:
        if text is not None:
            said = cut(printable(text[0]), style.room(50))
            end = f"{said:<{3 * number_width(style)}}  {mark(text[1], style)}"
            yield f"  {name:<{width - 1}} {end}"
    if app.growth_since_base is not None and app.base != PARENT:
        since = f"since {since_text([app])}"
        yield f"  {since:<{width - 1}} {growth_text(app)} bytes"
    if app.sizes:
        yield f"  {'page slack':<{width - 1}} {slack_text(app.sizes)}"
    for note in notes(build.found):
        yield from wrapped(f"  ! {printable(note)}", 0, style)
    if not is_urgent(build):
        yield from failures(build, style)
    if has_own_growth(build):
        yield from changes(app, style)
        yield from creep(app, style)
        yield from commands_to_try(todo(app, build.own), style)


def _limit(line: CheckLine, name: str, width: int, style: Style) -> Iterator[str]:
    """Write a limit's numbers and its rule, below them if there is no room on their right."""
    limit = NONE if line.limit is None else f"{line.limit:,}"
    headroom = NONE if line.headroom is None else f"{line.headroom:+,}" if line.headroom else "0"
    rule = printable(line.rule)
    fits = len(rule) <= style.room(style.width - width - 3 * number_width(style) - 7)
    cells = numbers((f"{line.actual:,}", limit, headroom), style)
    shown = style.dim(rule) if fits else ""
    yield f"  {name:<{width}}{cells}  {mark(line.verdict, style)}  {shown}"
    if not fits:
        yield from map(style.dim, wrapped(f"      {rule}", 0, style))
