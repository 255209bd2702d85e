"""Write a report in any format: terminal, json, csv, markdown, html.

It is written in pieces: a row for each symbol makes 100 MB of JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat

from sizeguard.attribution.size_report import ByteSums, Report
from sizeguard.report.screen.grid import RowName, distinct
from sizeguard.report.sizes.size_terminal import region_share, report_lines
from sizeguard.report.sizes.size_tree import (
    Rest,
    RowGroup,
    aliases_of,
    metric_of,
    rest_text,
    tree_of,
)
from sizeguard.report.writers.printable import shown
from sizeguard.report.writers.size_rows import (
    columns_of,
    image_json,
    json_rows,
    json_texts,
    regions_json,
    sums_json,
    texts_of,
)
from sizeguard.report.writers.style import Style, share, size_text
from sizeguard.report.writers.table import csv_rows, markdown_cell

SCHEMA_VERSION = 1
_WIDE = 80  # characters of a name in Markdown


def report_chunks(
    report: Report, format_: str, limit: int, style: Style | None = None
) -> Iterator[str]:
    """Write the report in pieces that end with a line.

    limit: rows shown by terminal and markdown, 0 for all
    """
    if format_ == "json":
        yield from _json(report)
    elif format_ == "csv":
        yield from _csv(report)
    elif format_ == "html":
        # Imported for this format only: it takes 7 ms of a small report's 330.
        from sizeguard.report.sizes.size_page import report_html

        yield from report_html(report)
    else:
        lines = (
            _markdown(report, limit)
            if format_ == "markdown"
            else report_lines(report, limit, style or Style())
        )
        yield "".join(f"{line}\n" for line in lines)


def _json(report: Report) -> Iterator[str]:
    import json  # 1 ms, which other formats save

    image = report.image
    head: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "image": image_json(image),
        "totals": {"file": image.file, "load": image.load, "ram": image.ram},
        "by": list(report.by),
    }
    if report.rules is not None:
        head["rules"] = report.rules
    if report.unknown:
        head["unknown"] = list(report.unknown)
    if report.left_out is not None:
        head |= {"filters": list(report.filters), "left_out": sums_json(report.left_out)}
    if "region" in report.by and image.regions is not None:
        head["regions"] = regions_json(image)
    columns = columns_of(report)
    texts = [json_texts(label) for label in report.labels]
    keys = ", ".join(f'"{level}": %s' for level in report.by)
    numbers = ", ".join(f'"{name}": %d' for name in columns)
    form = f"  {{{keys}, {numbers}%s}}"
    more = (f', "aliases": {json.dumps(names)}' if names else "" for names in _aliases(report))
    rows = zip(*texts, *columns.values(), more, strict=True)
    yield from json_rows(head, (form % row for row in rows))


def _aliases(report: Report) -> Iterator[tuple[str, ...]]:
    """Return the other names of each row's symbol."""
    if report.aliases is None:
        return repeat((), len(report))
    return report.aliases.of_rows(report.labels[report.by.index("symbol")])


def _csv(report: Report) -> Iterator[str]:
    columns = columns_of(report)
    texts = [texts_of(label) for label in report.labels]
    if report.aliases is None:
        yield from csv_rows([*report.by, *columns], zip(*texts, *columns.values(), strict=True))
        return
    aliases = (" ".join(names) for names in _aliases(report))
    rows = zip(*texts, *columns.values(), aliases, strict=True)
    yield from csv_rows([*report.by, *columns, "aliases"], rows)


def _markdown(report: Report, limit: int) -> Iterator[str]:
    image, metric, tree = report.image, metric_of(report), tree_of(report, limit)
    whole: int = {"load": image.load, "file": image.file, "ram": image.ram}[metric]

    def line(sums: ByteSums, names: str) -> str:
        size: int = {"load": sums.load, "file": sums.file, "ram": sums.ram}[metric]
        return f"| {size:,} | {size_text(size)} | {share(size, whole)} | {sums.count:,} | {names} |"

    def rest_line(rest: Rest, indent: str) -> str:
        return line(rest.sums, f"{indent}{rest_text(f'{rest.groups:,} smaller', rest)}")

    def group_lines(groups: Sequence[RowGroup], indent: str) -> Iterator[str]:
        for group, name in zip(groups, _names(groups), strict=True):
            yield line(group.sums, indent + markdown_cell(name) + aliases_of(group))
            yield from group_lines(group.children, indent + "&emsp;")
            if group.rest is not None:
                yield rest_line(group.rest, indent + "&emsp;")

    id_ = f", id {markdown_cell(image.id[:8])}" if image.id else ""
    yield (
        f"**{markdown_cell(image.title)}** load {image.load:,}, ram {image.ram:,}, file"
        f" {image.file:,}{id_}"
    )
    yield ""
    if report.filters:
        yield f"Only rows with {' and '.join(map(markdown_cell, report.filters))}."
        yield ""
    yield f"| {metric} | | share | n | {' / '.join(report.by)} |"
    yield "|---:|---:|---:|---:|---|"
    yield from group_lines(tree.top, "")
    if tree.rest is not None:
        yield rest_line(tree.rest, "")
    yield from group_lines(tree.others, "")
    yield from group_lines([tree.unattributed] if tree.unattributed else [], "")
    if report.left_out is not None:
        yield line(report.left_out, "left out by the filter")
    yield f"| **{whole:,}** | {size_text(whole)} | {'100.0%' if whole else ''} | | = sum of rows |"
    yield from _markdown_regions(report)


def _names(groups: Sequence[RowGroup]) -> list[str]:
    """Shorten names; different ones stay different."""
    names = [
        RowName(shown(group.level, group.text), is_symbol=group.level == "symbol")
        for group in groups
    ]
    return distinct(names, _WIDE)


def _markdown_regions(report: Report) -> Iterator[str]:
    """Write the memory regions beside rows by region."""
    if "region" not in report.by or not report.image.regions:
        return
    yield ""
    yield "| used | of | share | stored | runs | region |"
    yield "|---:|---:|---:|---:|---:|---|"
    for each in report.image.regions:
        cells = [f"{each.used:,}", *region_share(each), f"{each.stored:,}", f"{each.run:,}"]
        yield f"| {' | '.join(cells)} | {markdown_cell(each.name)} |"
