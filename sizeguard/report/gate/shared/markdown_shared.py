"""Blocks of a comment: a cause, and the list of its builds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sizeguard.base.errors import listed
from sizeguard.claims.verdict import PASS
from sizeguard.gate.gate_result import AppResult, Check
from sizeguard.report.gate.comment_blocks import Block
from sizeguard.report.gate.gate_words import since_release
from sizeguard.report.gate.markdown_sizes import ICONS, SIZES
from sizeguard.report.gate.shared.shared_builds import SharedSizes
from sizeguard.report.writers.markdown import code, row
from sizeguard.report.writers.printable import counted, middle
from sizeguard.report.writers.style import NONE, change_text

_NAME = 40  # characters of an app or target
_NAMED = 12  # builds to name in a sentence
_LIMIT = 80  # characters of a metric
_ROWS = 10  # builds in a table; details have all


def shared_sizes(sizes: Iterable[SharedSizes]) -> Iterator[Block]:
    """Write each exceeded limit once, with a table of its builds."""
    for each in sizes:
        if each.lacks_base:
            text = f"sizes of {counted(len(each.apps), 'build')} have no baseline"
            yield Block(1, ["", f"{ICONS[each.verdict]} {text}: {build_names(_names(each.apps))}"])
            continue
        for limit in each.limits:
            checks = each.checks(limit)
            metric = code(middle(checks[0].metric, _LIMIT)) + since_release(checks[0])
            title = f"#### {ICONS[each.verdict]} {each.summary} {metric}"
            head = row(["", "base", "new", "change", "limit"])
            lines = ["", title, "", head, "|---|---:|---:|---:|---:|"]
            yield Block(1, lines, [*map(_row, checks[:_ROWS])], _more(len(checks), 5))
        yield from _other_sizes(each)


def _other_sizes(sizes: SharedSizes) -> Iterator[Block]:
    """Write the sizes of the builds that their exceeded limits do not show."""
    shown = {limit.first.check.metric for limit in sizes.limits if limit.first.check is not None}
    metrics = [metric for metric in SIZES if metric not in shown]
    apps = [app for app in sizes.apps if app.sizes and app.old_sizes]
    if not metrics or not apps:
        return
    if not any(_change(app, metric) for app in apps for metric in metrics):
        of = "these builds" if len(apps) == len(sizes.apps) else f"{len(apps):,} of these builds"
        yield Block(2, ["", f"{' and '.join(metrics)} of {of} did not change"])
        return
    head = ["", row(["", *metrics]), f"|---|{'---:|' * len(metrics)}"]
    rows = [row([_name(app), *(_size(app, metric) for metric in metrics)]) for app in apps]
    yield Block(2, head, rows[:_ROWS], _more(len(rows), 1 + len(metrics)))


def _change(app: AppResult, metric: str) -> int:
    return int(getattr(app.sizes, metric)) - int(getattr(app.old_sizes, metric))


def _size(app: AppResult, metric: str) -> str:
    old, new = getattr(app.old_sizes, metric), getattr(app.sizes, metric)
    return f"{new:,}<br>{change_text(old, new)}"


def changed_sizes(apps: Sequence[AppResult]) -> Iterator[Block]:
    """Write the loaded bytes of many builds that pass, the largest change first."""
    sizes = [(app, app.old_sizes.load if app.old_sizes else None, app.sizes) for app in apps]
    known = [(app, old, new.load) for app, old, new in sizes if new is not None]
    known.sort(key=lambda each: -abs(each[2] - (each[1] or 0)))
    title = f"{ICONS[PASS]} {counted(len(known), 'build')} changed within their limits"
    head = ["", title, "", row(["load", "base", "new", "change"]), "|---|---:|---:|---:|"]
    rows = [
        row([_name(app), NONE if old is None else f"{old:,}", f"{new:,}", change_text(old, new)])
        for app, old, new in known[:_ROWS]
    ]
    yield Block(2, head, rows, _more(len(known), 4))


def _more(count: int, columns: int) -> list[str]:
    """Count the builds that the table leaves out."""
    return [row([f"{count - _ROWS:,} more", *[""] * (columns - 1)])] if count > _ROWS else []


def build_names(names: Sequence[str]) -> str:
    """Name builds in Markdown, and count the others."""
    return listed([code(middle(name, 2 * _NAME)) for name in names], _NAMED)


def _names(apps: Iterable[AppResult]) -> list[str]:
    return [f"{app.app} {app.target}" for app in apps]


def _name(each: AppResult | Check) -> str:
    return f"{code(middle(each.app, _NAME))}<br>{code(middle(each.target, _NAME))}"


def _row(check: Check) -> str:
    base = NONE if check.base is None else f"{check.base:,}"
    limit = NONE if check.limit is None else f"{check.limit:,}"
    change = change_text(check.base, check.actual)
    return row([_name(check), base, f"**{check.actual:,}**", change, limit])
