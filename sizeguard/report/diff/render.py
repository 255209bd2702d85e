"""Write a diff in any format: terminal, json, csv, markdown, html."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.diff.diff_result import CAUSES, Diff
from sizeguard.ledger.ledger import ImageInfo
from sizeguard.names.short import shortened
from sizeguard.report.screen.fit import screen_lines
from sizeguard.report.screen.grid import Column, GridRow, RowName, distinct, grid_lines, head_lines
from sizeguard.report.writers.printable import NOTHING, printable, shown
from sizeguard.report.writers.size_rows import (
    image_json,
    json_rows,
    json_texts,
    short_id,
    texts_of,
)
from sizeguard.report.writers.style import Style, growth_look, size_text
from sizeguard.report.writers.table import csv_rows, markdown_cell

SCHEMA_VERSION = 1
_AT_MOST = ", at most "
_WIDE = 80  # characters of a name in Markdown
_SHORT = 36  # characters of a symbol's name if it does not fit
_NAMES = tuple(cause.replace("_", " ") for cause in CAUSES)


def diff_chunks(diff: Diff, format_: str, limit: int, style: Style | None = None) -> Iterator[str]:
    """Write the diff in pieces that end with a line.

    limit: rows shown by terminal and markdown, 0 for all
    """
    if format_ == "json":
        yield from _json(diff)
    elif format_ == "csv":
        yield from _csv(diff)
    elif format_ == "html":
        # Imported for this format only: it takes 7 ms of a small diff's 370.
        from sizeguard.report.diff.diff_page import diff_html

        yield from diff_html(diff)
    else:
        style = style or Style()
        lines = (
            _markdown(diff, limit)
            if format_ == "markdown"
            else screen_lines(_terminal(diff, limit, style), style)
        )
        yield "".join(f"{line}\n" for line in lines)


def _columns(diff: Diff) -> dict[str, list[int]]:
    columns = {
        "old": diff.old,
        "new": diff.new,
        "delta": diff.delta,
        "old_count": diff.old_count,
        "new_count": diff.new_count,
    }
    return {name: column.tolist() for name, column in columns.items()}


def _json(diff: Diff) -> Iterator[str]:
    head: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "old": image_json(diff.old_image),
        "new": image_json(diff.new_image),
        "totals": {name: diff.total(name) for name in ("file", "load", "ram")},
        "metric": diff.metric,
        "by": list(diff.by),
    }
    if diff.left_out is not None:
        head |= {"filters": list(diff.filters), "left_out": getattr(diff.left_out, diff.metric)}
    columns = _columns(diff)
    keys = ", ".join(f'"{level}": %s' for level in diff.by)
    numbers = ", ".join(f'"{name}": %d' for name in columns)
    form = f'  {{{keys}, {numbers}, "cause": "%s"}}'
    causes = (CAUSES[i] for i in diff.cause.tolist())
    yield from json_rows(
        head,
        (
            form % row
            for row in zip(*map(json_texts, diff.labels), *columns.values(), causes, strict=True)
        ),
    )


def _csv(diff: Diff) -> Iterator[str]:
    columns = _columns(diff)
    causes = (CAUSES[i] for i in diff.cause.tolist())
    yield from csv_rows(
        [*diff.by, *columns, "cause"],
        zip(*map(texts_of, diff.labels), *columns.values(), causes, strict=True),
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """A row as shown."""

    delta: int
    old: int
    new: int
    cause: str
    count: str
    name: str
    short: str


@dataclass(frozen=True, slots=True)
class _Shown:
    """The lines of the largest rows. rest: describes the others, empty without any."""

    lines: list[_Line]
    rest: str = ""
    rest_delta: int = 0


def _row_name(line: _Line) -> RowName:
    return RowName(line.name, short=line.short if line.short != line.name else "")


def _lines(diff: Diff, limit: int, width: int = _SHORT) -> _Shown:
    """Make lines from the largest rows; describe and sum the others.

    width: characters of a symbol's name if the whole name does not fit
    """
    number = len(diff) if limit == 0 else min(limit, len(diff))
    lines = []
    for i in range(number):
        keys = list(zip(diff.by, diff.keys(i), strict=True))
        names = "  ".join(shown(level, key) for level, key in keys)
        short = "  ".join(
            shortened(shown(level, key), width) if level == "symbol" else shown(level, key)
            for level, key in _without_scopes(keys)
        )
        old, new = int(diff.old[i]), int(diff.new[i])
        lines.append(
            _Line(new - old, old, new, _NAMES[diff.cause[i]], _count(diff, i), names, short)
        )
    rest = diff.delta[number:]
    if not len(rest):
        return _Shown(lines)
    text = f"{len(rest):,} smaller changes{_AT_MOST}{int(np.abs(rest).max()):,} each"
    return _Shown(lines, "1 smaller change" if len(rest) == 1 else text, int(rest.sum()))


def _without_scopes(keys: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out names that a later name begins with: the namespace of a symbol."""
    texts = [shown(level, key) for level, key in keys]
    return [
        each
        for number, each in enumerate(keys)
        if not any(later.startswith(f"{texts[number]}::") for later in texts[number + 1 :])
    ]


def _count(diff: Diff, i: int) -> str:
    """Describe a changed number of instances: n 12 → 15, mean 140 → 142."""
    old, new = int(diff.old_count[i]), int(diff.new_count[i])
    if old == new or not old or not new:
        return ""
    return f"n {old:,} → {new:,}, mean {diff.old[i] / old:,.0f} → {diff.new[i] / new:,.0f}"


def _by_cause(diff: Diff) -> list[tuple[str, int]]:
    delta = diff.delta
    sums = [
        (name, int(delta[diff.cause == code].sum()), bool((diff.cause == code).any()))
        for code, name in enumerate(_NAMES)
    ]
    return [(name, size) for name, size, found in sums if found]


def _terminal(diff: Diff, limit: int, style: Style) -> Iterator[str]:
    metric = diff.metric
    old, new = int(getattr(diff.old_image, metric)), int(getattr(diff.new_image, metric))
    same = diff.old_image.title == diff.new_image.title
    for which, title, image in zip(
        ("old", "new"), diff.titles, (diff.old_image, diff.new_image), strict=True
    ):
        yield from head_lines(*_image(which, title, image, full=same), style, 3)
    if diff.filters:
        yield style.dim(f"only rows with {' and '.join(map(printable, diff.filters))}")
    yield ""
    total = diff.total(metric)
    yield style.bold(style.signed(_change(metric, old, new), total))
    if not len(diff) and diff.left_out is None:
        yield "no row differs"
        return
    yield ""
    columns = [
        Column("change"),
        Column("old", drop=2, is_firm=True),
        Column("new", drop=1, is_firm=True),
        Column("cause", is_right=False),
    ]
    yield from grid_lines(columns, " / ".join(diff.by), _rows(diff, limit, old, new), style)
    yield ""
    yield "  " + " · ".join(f"{name} {size:+,}" for name, size in _by_cause(diff))
    yield "  " + "   ".join(f"{name} {diff.total(name):+,}" for name in ("load", "ram", "file"))


def _rows(diff: Diff, limit: int, old: int, new: int) -> list[GridRow]:
    """Make the rows of the table: the largest changes, the others, the sum."""
    largest = _lines(diff, limit)
    rows = []
    for line in largest.lines:
        cells = [f"{line.delta:+,}", f"{line.old:,}", f"{line.new:,}", line.cause]
        rows.append(GridRow(cells, _row_name(line), looks={0: growth_look(line.delta)}))
        if line.count:
            count = RowName(line.count, short=line.count.partition(", mean")[0])
            rows.append(GridRow(["", "", "", ""], count, "dim"))
    if largest.rest:
        cells = [f"{largest.rest_delta:+,}", "", "", ""]
        name = RowName(largest.rest, short=largest.rest.partition(_AT_MOST)[0])
        rows.append(GridRow(cells, name, looks={0: growth_look(largest.rest_delta)}))
    if diff.left_out is not None:
        cells = [f"{getattr(diff.left_out, diff.metric):+,}", "", "", ""]
        rows.append(GridRow(cells, RowName("left out by the filter")))
    total = diff.total(diff.metric)
    sums = [f"{total:+,}", f"{old:,}", f"{new:,}", ""]
    return [*rows, GridRow(sums, RowName("= sum of rows"), "bold")]


def _change(metric: str, old: int, new: int) -> str:
    """Sum up the change: load grew 1,204 bytes (+2.05%): 58,700 → 59,904."""
    delta = new - old
    if not delta:
        return f"no change of {metric} {old:,}"
    share = f"{100 * delta / old:+.2f}%" if old else ""
    percent = f" ({'<0.01%' if share.endswith('0.00%') else share})" if share else ""
    verdict = "grew" if delta > 0 else "shrank"
    return f"{metric} {verdict} {abs(delta):,} bytes{percent}: {old:,} → {new:,}"


def _rounded(change: int) -> str:
    """Write a change in KiB or larger units; nothing for less than 1 KiB, whose bytes say it."""
    return f" ({size_text(change)})" if abs(change) >= 1 << 10 else ""


def _image(which: str, title: str, image: ImageInfo, *, full: bool) -> tuple[str, str]:
    name = f"{title}  {image.path}" if full else title
    return (
        f"{which}  {printable(name)}{short_id(image)}",
        f"load {image.load:,}   ram {image.ram:,}   file {image.file:,}",
    )


def _markdown(diff: Diff, limit: int) -> Iterator[str]:
    metric = diff.metric
    total = diff.total(metric)
    old, new = int(getattr(diff.old_image, metric)), int(getattr(diff.new_image, metric))
    titles = " → ".join(map(markdown_cell, diff.titles))
    others = ", ".join(
        f"{name} {diff.total(name):+,}" for name in ("load", "ram", "file") if name != metric
    )
    yield f"{titles}: **{metric} {total:+,}**{_rounded(total)}, {others}"
    if diff.filters:
        yield ""
        yield f"Only rows with {' and '.join(map(markdown_cell, diff.filters))}."
    yield ""
    yield f"| change | old | new | cause | {' / '.join(diff.by)} | instances |"
    yield "|---:|---:|---:|---|---|---|"
    largest = _lines(diff, limit, _WIDE - 20)
    names = distinct([_row_name(line) for line in largest.lines], _WIDE)
    for line, text in zip(largest.lines, names, strict=True):
        name = markdown_cell(text) if line.name != NOTHING else NOTHING
        yield (
            f"| {line.delta:+,} | {line.old:,} | {line.new:,} | {line.cause} | {name} |"
            f" {line.count} |"
        )
    if largest.rest:
        yield f"| {largest.rest_delta:+,} | | | | {largest.rest} | |"
    if diff.left_out is not None:
        yield f"| {getattr(diff.left_out, metric):+,} | | | | left out by the filter | |"
    yield f"| **{total:+,}** | {old:,} | {new:,} | | = sum of rows | |"
