"""Write a history of sizes in any format: tables, JSON, pages, a badge and its trend."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sizeguard.history.history_result import (
    REVIEWED,
    HistoryLine,
    HistoryPoint,
    SizeChange,
    SizeHistory,
)
from sizeguard.report.history.history_page import history_html
from sizeguard.report.history.history_words import (
    largest_part,
    line_title,
    notes_of,
    part_text,
    points_shown,
    size_texts,
    without_size,
)
from sizeguard.report.history.trend import badge_json, trend_svg
from sizeguard.report.screen.fit import screen_lines
from sizeguard.report.writers.markdown import code, prose
from sizeguard.report.writers.markdown import row as markdown_row
from sizeguard.report.writers.printable import middle, printable
from sizeguard.report.writers.size_rows import row_json
from sizeguard.report.writers.style import NONE, Style
from sizeguard.report.writers.table import csv_rows

SCHEMA_VERSION = 1
_NAME = 16  # of a point
_WITH_ALL, _WITH_PART = 100, 72  # columns that a row takes with all sizes, and with load alone
_CSV_HEAD = [
    "app", "target", "commit", "names", "date", "subject", "source",
    "load", "ram", "file", "load_change", "ram_change", "file_change",
]  # fmt: skip


def history_chunks(
    history: SizeHistory, format_: str, limit: int, style: Style | None = None
) -> Iterator[str]:
    """Write the history in pieces that end with a line.

    limit: rows of each change in terminal, markdown and html, 0 for all
    """
    if format_ == "json":
        yield json.dumps(_json(history), indent=1) + "\n"
    elif format_ == "csv":
        rows = ((line, point) for line in history.lines for point in line.points)
        yield from csv_rows(_CSV_HEAD, (_csv(*row) for row in rows))
    elif format_ == "html":
        yield from history_html(history, limit, "\n".join(_markdown(history, limit)))
    elif format_ == "badge":
        yield badge_json(history) + "\n"
    elif format_ == "svg":
        yield from trend_svg(history)
    else:
        style = style or Style()
        lines = (
            _markdown(history, limit)
            if format_ == "markdown"
            else screen_lines(_terminal(history, limit, style), style)
        )
        yield "".join(f"{line}\n" for line in lines)


def _json(history: SizeHistory) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": history.kind,
        "since": history.since,
        "builds": history.built,
        "older": history.older,
        "lines": [
            {"app": line.app, "target": line.target, "by": line.by} for line in history.lines
        ],
        "points": [_point_json(line, point) for line in history.lines for point in line.points],
    }


def _point_json(line: HistoryLine, point: HistoryPoint) -> dict[str, object]:
    commit, sizes = point.release.commit, point.sizes
    return {
        "app": line.app,
        "target": line.target,
        "commit": commit.id,
        "names": list(point.release.tags),
        "date": commit.date,
        "author": commit.author,
        "subject": commit.subject,
        "source": point.source,
        "why": point.why,
        "load": sizes.load if sizes else None,
        "ram": sizes.ram if sizes else None,
        "file": sizes.file if sizes else None,
        "parts": dict(sorted(point.parts.items())),
        "change": None if point.change is None else _change_json(point.change),
    }


def _change_json(change: SizeChange) -> dict[str, object]:
    return {
        "since": change.since.commit.id,
        "load": change.load,
        "ram": change.ram,
        "file": change.file,
        "by": list(change.by),
        "rows": (
            None if change.rows is None else [row_json(change.by, row) for row in change.rows]
        ),
    }


def _csv(line: HistoryLine, point: HistoryPoint) -> list[object]:
    commit, sizes, change = point.release.commit, point.sizes, point.change
    return [
        line.app,
        line.target,
        commit.id,
        printable(" ".join(point.release.tags)),
        commit.date,
        printable(commit.subject),
        point.source,
        *((sizes.load, sizes.ram, sizes.file) if sizes else ("", "", "")),
        *((change.load, change.ram, change.file) if change else ("", "", "")),
    ]


def _terminal(history: SizeHistory, limit: int, style: Style) -> Iterator[str]:
    for number, line in enumerate(history.lines):
        if number:
            yield ""
        yield style.bold(line_title(line))
        more = f" {'ram':>9} {'file':>11}" if _has_room(style, _WITH_ALL) else ""
        part = "  largest change" if _has_room(style, _WITH_PART) else ""
        yield style.dim(
            f"  {'date':<10}  {'point':<{_NAME}}  {'load':>11} {'change':>10}{more}{part}"
        )
        for point in points_shown(history, line):
            yield from _point_lines(point, limit, style)
    notes = list(notes_of(history))
    if notes:
        yield ""
        yield from (f"  {note}" for note in notes)


def _point_lines(point: HistoryPoint, limit: int, style: Style) -> Iterator[str]:
    release = point.release
    head = f"  {release.commit.date[:10]}  {middle(release.name, _NAME):<{_NAME}}"
    if point.sizes is None:
        yield style.dim(f"{head}  {without_size(point)}")
        return
    change = point.change
    delta = NONE if change is None else f"{change.load:+,}"
    shown = style.signed(f"{delta:>10}", change.load if change else 0)
    sizes = point.sizes
    text = f"{head}  {sizes.load:>11,} {shown}"
    has_all, has_part = (_has_room(style, width) for width in (_WITH_ALL, _WITH_PART))
    if has_all:
        text += f" {sizes.ram:>9,} {sizes.file:>11,}"
    if has_part:
        room = max(style.width - (85 if has_all else 64), 12)
        text += f"  {largest_part(point, style.room(room))}"
    yield text.rstrip()
    indent = 43 if has_part else 12
    if not has_part and point.source == REVIEWED:
        yield f"{'':>{indent}}  (baseline)"
    if change is None or not change.rows or (limit == 1 and has_part):
        return
    for row in change.rows[int(has_part) : limit or None]:
        room = max(style.width - indent - 13, 24)
        yield f"{'':>{indent}} {row.delta:>+10,}  {part_text(row, style.room(room))}"


def _has_room(style: Style, width: int) -> bool:
    """Check whether a row of that width fits."""
    return style.full or style.width >= width


def _markdown(history: SizeHistory, limit: int) -> Iterator[str]:
    for number, line in enumerate(history.lines):
        if number:
            yield ""
        yield f"### {prose(line_title(line))}"
        yield ""
        yield markdown_row(["date", "point", "load", "change", "ram", "file", "largest changes"])
        yield markdown_row(["---", "---", "---:", "---:", "---:", "---:", "---"])
        for point in points_shown(history, line):
            yield markdown_row(_markdown_cells(point, limit))
    notes = list(notes_of(history))
    if notes:
        yield ""
        yield from (f"- {prose(note)}" for note in notes)


def _markdown_cells(point: HistoryPoint, limit: int) -> list[str]:
    name = code(point.release.name)
    date = point.release.commit.date[:10]
    if point.sizes is None:
        return [date, name, "", "", "", "", prose(without_size(point))]
    rows = (point.change.rows if point.change else None) or ()
    parts = [f"{row.delta:+,} {code(part_text(row, 60))}" for row in rows[: limit or None]]
    if point.source == REVIEWED:
        parts.append("(baseline)")
    delta = f"{point.change.load:+,}" if point.change else ""
    sizes = size_texts(point)
    return [date, name, sizes.load, delta, sizes.ram, sizes.file, "<br>".join(parts)]
