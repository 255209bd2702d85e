"""Write a diff in any format: terminal, json, csv, markdown, html."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sizeguard.diff.diff_result import CAUSES, Diff
from sizeguard.ledger.ledger import ImageInfo
from sizeguard.report.writers.printable import NOTHING, printable, shown
from sizeguard.report.writers.size_rows import (
    csv_rows,
    image_json,
    json_rows,
    json_texts,
    markdown_cell,
    texts_of,
)
from sizeguard.report.writers.style import Style, kib

SCHEMA_VERSION = 1
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
        # Imported for this format alone: it takes 7 ms of a small diff's 370.
        from sizeguard.report.diff.diff_page import diff_html

        yield from diff_html(diff)
    else:
        style = style or Style()
        lines = (
            _markdown(diff, limit)
            if format_ == "markdown"
            else (style.finish(line) for line in _terminal(diff, limit, style))
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


def _lines(diff: Diff, limit: int, width: int) -> tuple[list[_Line], str, int]:
    """Make lines of the largest rows; describe the others and sum them."""
    number = len(diff) if limit == 0 else min(limit, len(diff))
    lines = []
    for i in range(number):
        names = "  ".join(
            shown(level, key, width) for level, key in zip(diff.by, diff.keys(i), strict=True)
        )
        names = names if len(names) <= width else f"{names[: width - 1]}…"
        old, new = int(diff.old[i]), int(diff.new[i])
        lines.append(_Line(new - old, old, new, _NAMES[diff.cause[i]], _count(diff, i), names))
    rest = diff.delta[number:]
    if not len(rest):
        return lines, "", 0
    return (
        lines,
        f"{len(rest):,} smaller changes, at most {int(np.abs(rest).max()):,} each",
        int(rest.sum()),
    )


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
    yield f"old  {_image(diff.old_image, full=same)}"
    yield f"new  {_image(diff.new_image, full=same)}"
    if diff.filters:
        yield style.dim(f"only rows with {' and '.join(map(printable, diff.filters))}")
    yield ""
    total = diff.total(metric)
    yield style.bold(style.signed(_change(metric, old, new), total))
    if not len(diff) and diff.left_out is None:
        yield "no row differs"
        return
    yield ""
    numbers = 12 + 12 + 12 + 2 + 15 + 2
    width = max(style.width - numbers, 20)
    yield style.dim(f"{'change':>12}{'old':>12}{'new':>12}  {'cause':<15}  {' / '.join(diff.by)}")
    lines, rest, rest_sum = _lines(diff, limit, width)
    for line in lines:
        sizes = f"{line.old:>12,}{line.new:>12,}"
        yield (
            f"{style.signed(f'{line.delta:>+12,}', line.delta)}{sizes}  {line.cause:<15} "
            f" {line.name}"
        )
        if line.count:
            yield style.dim(f"{'':>{numbers}}{line.count}")
    if rest:
        yield f"{style.signed(f'{rest_sum:>+12,}', rest_sum)}{'':>24}  {'':<15}  {rest}"
    if diff.left_out is not None:
        yield f"{getattr(diff.left_out, metric):>+12,}{'':>24}  {'':<15}  left out by the filter"
    yield style.bold(f"{total:>+12,}{old:>12,}{new:>12,}  = sum of rows")
    yield ""
    yield "  " + " · ".join(f"{name} {size:+,}" for name, size in _by_cause(diff))
    yield "  " + "   ".join(f"{name} {diff.total(name):+,}" for name in ("load", "ram", "file"))


def _change(metric: str, old: int, new: int) -> str:
    """Sum up the change: load grew 1,204 bytes (+2.05%): 58,700 → 59,904."""
    delta = new - old
    if not delta:
        return f"no change of {metric} {old:,}"
    percent = f" ({100 * delta / old:+.2f}%)" if old else ""
    verdict = "grew" if delta > 0 else "shrank"
    return f"{metric} {verdict} {abs(delta):,} bytes{percent}: {old:,} → {new:,}"


def _image(image: ImageInfo, *, full: bool) -> str:
    name = f"{image.title}  {image.path}" if full else image.title
    return (
        f"{printable(name)}  id {image.id[:8] or 'none'}   load {image.load:,}   ram {image.ram:,} "
        f"  file {image.file:,}"
    )


def _markdown(diff: Diff, limit: int) -> Iterator[str]:
    metric = diff.metric
    total = diff.total(metric)
    old, new = int(getattr(diff.old_image, metric)), int(getattr(diff.new_image, metric))
    titles = f"{markdown_cell(diff.old_image.title)} → {markdown_cell(diff.new_image.title)}"
    others = ", ".join(
        f"{name} {diff.total(name):+,}" for name in ("load", "ram", "file") if name != metric
    )
    yield f"{titles}: **{metric} {total:+,}** ({kib(total)}), {others}"
    if diff.filters:
        yield ""
        yield f"Only rows with {' and '.join(map(markdown_cell, diff.filters))}."
    yield ""
    yield f"| change | old | new | cause | {' / '.join(diff.by)} | instances |"
    yield "|---:|---:|---:|---|---|---|"
    lines, rest, rest_sum = _lines(diff, limit, 80)
    for line in lines:
        name = markdown_cell(line.name) if line.name != NOTHING else NOTHING
        yield (
            f"| {line.delta:+,} | {line.old:,} | {line.new:,} | {line.cause} | {name} |"
            f" {line.count} |"
        )
    if rest:
        yield f"| {rest_sum:+,} | | | | {rest} | |"
    if diff.left_out is not None:
        yield f"| {getattr(diff.left_out, metric):+,} | | | | left out by the filter | |"
    yield f"| **{total:+,}** | {old:,} | {new:,} | | = sum of rows | |"
