"""Tables of a comment: base, new, change and limit of load, file and ram for each build."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.gate_result import (
    MEASURED,
    NOT_RUN,
    PARENT,
    SIZE_KINDS,
    SNAPSHOT,
    AppResult,
    Check,
    GateResult,
)
from sizeguard.report.gate.comment_blocks import Block
from sizeguard.report.gate.gate_words import CheckLine, limit_lines, word
from sizeguard.report.gate.shared.build_findings import BuildFindings
from sizeguard.report.screen.grid import RowName, distinct
from sizeguard.report.writers.markdown import code, prose, row
from sizeguard.report.writers.printable import at_most, counted, middle, printable
from sizeguard.report.writers.style import change_text

ICONS = {PASS: "✅", FAIL: "❌", INCONCLUSIVE: "⚠️", NOT_RUN: "➖"}
TITLE = 140  # characters that GitHub shows of a status
SIZES = ("load", "file", "ram")
_NAME = 40  # characters of an app or target
_MATRIX = 12  # apps in a table that is not folded
_WORST = (FAIL, INCONCLUSIVE, PASS, NOT_RUN)


def title_text(result: GateResult, limit: int = TITLE) -> str:
    """Sum up a result in a line: fail: vision x86_64-linux load +1,204 (+3.0%) to 41,204."""
    apps = [app for app in result.apps if app.sizes]
    changed = [(app, *_loads(app)) for app in apps if app.old_sizes]
    changed = [each for each in changed if each[1] != each[2]]
    changed.sort(key=lambda each: -abs(each[2] - each[1]))
    verdict = word(result.verdict).lower()
    if not apps:
        return f"{verdict}: {'nothing changed' if result.skipped else 'nothing was measured'}"
    if not changed:
        known = sum(app.old_sizes is not None for app in apps)
        what = [f"load +0 of {counted(known, 'build')}"] if known else []
        if known < len(apps):
            what.append(f"load has no base of {counted(len(apps) - known, 'build')}")
        return at_most(printable(f"{verdict}: {', '.join(what)}"), limit)
    app, old, new = changed[0]
    many = f", {len(changed) - 1} more changed" if len(changed) > 1 else ""
    name = f"{middle(app.app, 24)} {middle(app.target, 24)}".strip()
    text = f"{verdict}: {name} load {change_text(old, new)} to {new:,}{many}"
    return at_most(printable(text), limit)


def _loads(app: AppResult) -> tuple[int, int]:
    old, new = app.old_sizes, app.sizes
    return (old.load if old else 0, new.load if new else 0)


def is_changed(app: AppResult) -> bool:
    """Return whether a size of the build differs from its base's, or has no base."""
    return app.sizes is not None and (app.old_sizes is None or app.sizes != app.old_sizes)


def matrix(builds: Sequence[BuildFindings]) -> Iterator[Block]:
    """Write a table of apps by targets, if there are several builds."""
    if len(builds) < 2:
        return
    targets = list(dict.fromkeys(build.app.target for build in builds))
    names = list(dict.fromkeys(build.app.app for build in builds))
    cells = {(build.app.app, build.app.target): _cell(build) for build in builds}
    head = [
        "",
        row(["load", *_codes(targets)]),
        row(["---", *(["---:"] * len(targets))]),
    ]
    rows = [
        row([shown, *(cells.get((name, target), "") for target in targets)])
        for name, shown in zip(names, _codes(names), strict=True)
    ]
    if len(names) <= _MATRIX:
        yield Block(0, head, rows)
        return
    fold = ["", "<details>", f"<summary>load of all {counted(len(builds), 'build')}</summary>"]
    yield Block(1, [*fold, *head], rows, ["", "</details>"])


def _codes(names: Sequence[str]) -> list[str]:
    """Shorten names as code; different ones stay different."""
    return [code(text) for text in distinct([RowName(printable(name)) for name in names], _NAME)]


def _cell(build: BuildFindings) -> str:
    sizes, old = build.app.sizes, build.app.old_sizes
    if sizes is None:
        return f"{ICONS[build.verdict]} –"
    change = f" {change_text(old.load, sizes.load)}" if old else ""
    return f"{ICONS[build.verdict]} {sizes.load:,}{change}"


def size_table(build: BuildFindings, rank: int) -> Block:
    """Write base, new, change and limit of a build's sizes; all columns fit a narrow screen.

    The build's name is above the table, because a column for it would not fit.
    """
    app = build.app
    name = f"{ICONS[build.verdict]} {code(app.app)} for {code(app.target)}"
    title = ["", name] if build.verdict == PASS else []
    head = [*title, "", row(["", "base", "new", "change", "limit"]), "|---|---:|---:|---:|---:|"]
    return Block(rank, head, [_size(app, metric) for metric in SIZES] if app.sizes else [])


def _size(app: AppResult, metric: str) -> str:
    new = getattr(app.sizes, metric)
    old = getattr(app.old_sizes, metric) if app.old_sizes else None
    checks = [each for each in app.checks if each.metric == metric and each.kind in SIZE_KINDS]
    icon = f"{ICONS[_worst(checks)]} " if checks else ""
    limits = [each.limit for each in checks if each.limit is not None and each.verdict != NOT_RUN]
    failing = [each.limit for each in checks if each.limit is not None and each.verdict == FAIL]
    limit = f"{min(failing or limits):,}" if limits else "–"
    bold = "**" if failing else ""
    return row(
        [
            f"{icon}{metric}",
            "–" if old is None else f"{old:,}",
            f"{bold}{new:,}{bold}",
            change_text(old, new),
            limit,
        ]
    )


def _worst(checks: Iterable[Check]) -> str:
    verdicts = {check.verdict for check in checks}
    return next(each for each in _WORST if each in verdicts)


def bad_limits(build: BuildFindings) -> list[str]:
    """Write an item for each exceeded limit; sentences wrap, but tables do not."""
    lines = [line for line in limit_lines(build.app) if line.verdict in (FAIL, INCONCLUSIVE)]
    return [f"- {_limit_item(line)}" for line in lines]


def _limit_item(line: CheckLine) -> str:
    metric = code(middle(line.name, 2 * _NAME))
    if line.limit is None or line.headroom is None:
        what = f"{line.actual:,} bytes, no baseline"
    elif line.headroom < 0:
        what = f"{line.actual:,} of {line.limit:,} bytes, **{-line.headroom:,} too many**"
    else:
        what = f"{line.actual:,} of {line.limit:,} bytes"
    rule = f": {prose(line.rule)}" if line.rule else ""
    return f"{ICONS[line.verdict]} {metric} {what}{rule}"


def unchanged_builds(builds: Sequence[BuildFindings]) -> Iterator[Block]:
    """Count the builds that pass and have the sizes of their base."""
    count = sum(build.verdict == PASS and not is_changed(build.app) for build in builds)
    if count and count < len(builds):
        yield Block(2, ["", f"{counted(count, 'build')} passed, with the sizes of the base."])


def growths(result: GateResult) -> Iterator[Block]:
    """Write growth since the merge base for builds that are compared with another base."""
    head = ["", row(["since merge base", "load", "file", "ram"]), "|---|---:|---:|---:|"]
    rows = []
    apps = _codes([app.app for app in result.apps])
    targets = _codes([app.target for app in result.apps])
    for app, *names in zip(result.apps, apps, targets, strict=True):
        by, now = app.growth_since_base, app.sizes
        if by is None or now is None or app.base in (MEASURED, PARENT, SNAPSHOT):
            continue
        pairs = ((by.load, now.load), (by.file, now.file), (by.ram, now.ram))
        rows.append(
            row(["<br>".join(names), *(change_text(new - delta, new) for delta, new in pairs)])
        )
    if rows:
        yield Block(1, head, rows)
