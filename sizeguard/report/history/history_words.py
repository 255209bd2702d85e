"""Sentences and cells about a history that several formats share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sizeguard.diff.diff_result import DiffRow
from sizeguard.history.history_result import (
    NOT_KNOWN,
    RELEASES,
    REVIEWED,
    HistoryLine,
    HistoryPoint,
    SizeHistory,
)
from sizeguard.report.screen.cells import cells
from sizeguard.report.writers.printable import NOTHING, middle, printable, shown

_LEAST_SYMBOL = 12  # cells that a symbol has beside the name of its level


def line_title(line: HistoryLine) -> str:
    """Write an app's size now and at the first point."""
    name = f"{printable(line.app)}  {printable(line.target)}"
    known = line.known
    if not known:
        return f"{name}  no size is known"
    first, last = known[0], known[-1]
    if first.sizes is None or last.sizes is None or first is last:
        return f"{name}  load {size_texts(last).load}"
    delta = last.sizes.load - first.sizes.load
    return (
        f"{name}  load {first.sizes.load:,} → {last.sizes.load:,}, {delta:+,} since"
        f" {printable(first.release.name)}"
    )


class SizeTexts(NamedTuple):
    """Sizes as texts; empty if they are unknown."""

    load: str
    ram: str
    file: str


def size_texts(point: HistoryPoint) -> SizeTexts:
    """Write the sizes of a point."""
    sizes = point.sizes
    if sizes is None:
        return SizeTexts("", "", "")
    return SizeTexts(f"{sizes.load:,}", f"{sizes.ram:,}", f"{sizes.file:,}")


def points_shown(history: SizeHistory, line: HistoryLine) -> Iterator[HistoryPoint]:
    """Leave out unnamed commits that changed nothing, except the first and the last."""
    for number, point in enumerate(line.points):
        is_end = number in (0, len(line.points) - 1)
        has_change = point.change is None or any(
            (point.change.load, point.change.ram, point.change.file)
        )
        is_known = point.sizes is not None
        if history.kind == RELEASES or is_end or point.release.tags or (is_known and has_change):
            yield point
        elif point.source not in (NOT_KNOWN,) and not is_known:
            yield point  # the commit does not build


def without_size(point: HistoryPoint) -> str:
    """Write why the size is unknown."""
    return f"{point.source}: {printable(point.why)}" if point.why else point.source


def part_text(row: DiffRow, width: int) -> str:
    """Name a row: its level's name, and the symbol if it has one that does not begin with it."""
    part, symbol = printable(row.keys[0] or NOTHING), "".join(row.keys[1:])
    if not symbol:
        return middle(part, width)
    if part == NOTHING or shown("symbol", symbol).startswith((f"{part}::", f"{part}(")):
        return shown("symbol", symbol, width)
    room = width - cells(part) - 2
    return middle(f"{part}  {shown('symbol', symbol, max(room, _LEAST_SYMBOL))}", width)


def largest_part(point: HistoryPoint, width: int) -> str:
    """Name the part that changed most since the previous point."""
    note = "  (baseline)" if point.source == REVIEWED else ""
    rows = point.change.rows if point.change else None
    if not rows:
        return note.strip()
    return f"{rows[0].delta:+,} {part_text(rows[0], width)}{note}"


def notes_of(history: SizeHistory, *, shows_all: bool = False) -> Iterable[str]:
    """Write notes on omitted commits, unless all are shown, and on the source of sizes."""
    hidden = sum(
        len(line.points) - sum(1 for _ in points_shown(history, line)) for line in history.lines
    )
    if hidden and not shows_all:
        yield f"commits left out: {hidden:,} without a change or a known size; JSON has all"
    points = [point for line in history.lines for point in line.points]
    unknown = sum(point.source == NOT_KNOWN for point in points)
    if unknown:
        yield f"sizes not known: {unknown:,}; --build builds their commits"
    failed = [point for point in points if point.source == REVIEWED and point.why]
    if failed:
        yield f"not built: {len(failed):,}; first error: {printable(failed[0].why)}"
    if any(point.source == REVIEWED for point in points):
        yield "sizes from a baseline are the reviewed ones and can be older than the commit"
    if history.older:
        yield "there are older ones: --last 0 shows all"
