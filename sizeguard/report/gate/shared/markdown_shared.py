"""Blocks of a comment: a cause, and the list of its builds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sizeguard.gate.gate_result import AppResult, Check
from sizeguard.report.gate.comment_blocks import Block
from sizeguard.report.gate.gate_words import counted
from sizeguard.report.gate.markdown_sizes import ICONS
from sizeguard.report.gate.shared.shared_builds import SharedSizes
from sizeguard.report.writers.markdown import code, row
from sizeguard.report.writers.printable import middle
from sizeguard.report.writers.style import change_text

_NAME = 40  # characters of an app or target
_NAMED = 12  # builds to name in a sentence
_LIMIT = 80  # characters of a metric


def shared_sizes(sizes: Iterable[SharedSizes]) -> Iterator[Block]:
    """Write each exceeded limit once, with a table of its builds."""
    for each in sizes:
        if each.lacks_base:
            text = f"sizes of {counted(len(each.apps), 'build')} have no baseline"
            yield Block(1, ["", f"{ICONS[each.verdict]} {text}: {build_names(_names(each.apps))}"])
            continue
        for limit in each.limits:
            checks = each.checks(limit)
            metric = code(middle(checks[0].metric, _LIMIT))
            title = f"#### {ICONS[each.verdict]} {counted(len(each.apps), 'build')} exceed {metric}"
            head = row(["", "base", "new", "change", "limit"])
            yield Block(1, ["", title, "", head, "|---|---:|---:|---:|---:|"], [*map(_row, checks)])


def build_names(names: Sequence[str], most: int = _NAMED) -> str:
    """Name builds in Markdown, and count the others."""
    shown = ", ".join(code(middle(name, 2 * _NAME)) for name in names[:most])
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{shown}{more}"


def _names(apps: Iterable[AppResult]) -> list[str]:
    return [f"{app.app} {app.target}" for app in apps]


def _row(check: Check) -> str:
    name = f"{code(middle(check.app, _NAME))}<br>{code(middle(check.target, _NAME))}"
    base = "–" if check.base is None else f"{check.base:,}"
    limit = "–" if check.limit is None else f"{check.limit:,}"
    change = change_text(check.base, check.actual)
    return row([name, base, f"**{check.actual:,}**", change, limit])
