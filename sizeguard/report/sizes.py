"""Turns a report into text: terminal, json, csv, markdown, html. In pieces: a row for each symbol makes 100 MB of JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator

from sizeguard.attribution.analysis import RowTexts
from sizeguard.attribution.result import Report, Sums
from sizeguard.ledger.ledger import ImageInfo
from sizeguard.report.markdown import code
from sizeguard.report.names import shown
from sizeguard.report.style import NONE, Style, kib, share
from sizeguard.report.terminal import report_lines
from sizeguard.report.tree import Group, Rest, metric_of, tree_of

SCHEMA_VERSION = 1
_PIECE = 10_000  # rows


def report_chunks(report: Report, format_: str, limit: int, style: Style | None = None) -> Iterator[str]:
    """The text of one format, in pieces that end with a line. limit: rows shown by terminal and markdown, 0 for all."""
    if format_ == "json":
        yield from _json(report)
    elif format_ == "csv":
        yield from _csv(report)
    elif format_ == "html":
        from sizeguard.report.html import report_html

        yield from report_html(report)
    else:
        lines = _markdown(report, limit) if format_ == "markdown" else report_lines(report, limit, style or Style())
        yield "".join(f"{line}\n" for line in lines)


def image_json(image: ImageInfo) -> dict[str, object]:
    return {"path": image.path, "format": image.format, "arch": image.arch, "id": image.id, "title": image.title}


def columns_of(report: Report) -> dict[str, list[int]]:
    """The numbers of the rows, by the names that JSON and CSV give them."""
    names = ("file", "load", "ram", "count", "exclusive", "shared")
    return {name: getattr(report, name).tolist() for name in names if getattr(report, name) is not None}


def sums_json(sums: Sums) -> dict[str, int]:
    return {"file": sums.file, "load": sums.load, "ram": sums.ram, "count": sums.count}


def _json(report: Report) -> Iterator[str]:
    image = report.image
    head: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "image": image_json(image),
        "totals": {"file": image.file, "load": image.load, "ram": image.ram},
        "by": list(report.by),
    }
    if report.left_out is not None:
        head |= {"filters": list(report.filters), "left_out": sums_json(report.left_out)}
    columns = columns_of(report)
    texts = [json_texts(label) for label in report.labels]
    keys = ", ".join(f'"{level}": %s' for level in report.by)
    numbers = ", ".join(f'"{name}": %d' for name in columns)
    form = f"  {{{keys}, {numbers}}}"
    yield from json_rows(head, (form % row for row in zip(*texts, *columns.values(), strict=True)))


def json_rows(head: dict[str, object], rows: Iterable[str]) -> Iterator[str]:
    """An object with `rows` as its last key, a row a line."""
    yield json.dumps(head, indent=1)[:-2] + ',\n "rows": ['
    before = "\n"
    piece: list[str] = []
    for row in rows:
        piece.append(before + row)
        before = ",\n"
        if len(piece) == _PIECE:
            yield "".join(piece)
            piece.clear()
    yield "".join(piece) + "\n ]\n}\n"


def json_texts(label: RowTexts) -> Iterator[str]:
    """The quoted value of each row; of few values each is quoted once."""
    quote = json.encoder.encode_basestring_ascii
    texts, ids = label.texts, label.ids.tolist()
    if len(texts) * 2 > len(ids):
        return (quote(texts[i]) for i in ids)
    quoted = [quote(texts[i]) for i in range(len(texts))]
    return (quoted[i] for i in ids)


def texts_of(label: RowTexts) -> Iterator[str]:
    return (label.texts[i] for i in label.ids.tolist())


def _csv(report: Report) -> Iterator[str]:
    columns = columns_of(report)
    texts = [texts_of(label) for label in report.labels]
    yield from csv_rows([*report.by, *columns], zip(*texts, *columns.values(), strict=True))


def csv_rows(head: list[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """As RFC 4180 says: CRLF, quotes where needed."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(head)
    for number, row in enumerate(rows):
        writer.writerow(row)
        if number % _PIECE == 0:
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


def markdown_cell(text: str) -> str:
    """A name as code, which shows it as it is; what stands for nothing stays."""
    return text if text == NONE else code(text)


def _markdown(report: Report, limit: int) -> Iterator[str]:
    image, metric, tree = report.image, metric_of(report), tree_of(report, limit)
    whole: int = {"load": image.load, "file": image.file, "ram": image.ram}[metric]

    def line(sums: Sums, names: str) -> str:
        size: int = {"load": sums.load, "file": sums.file, "ram": sums.ram}[metric]
        return f"| {size:,} | {kib(size)} | {share(size, whole)} | {sums.count:,} | {names} |"

    def rest_line(rest: Rest, indent: str) -> str:
        return line(rest.sums, f"{indent}{rest.groups:,} smaller, at most {rest.largest:,} each")

    def group_lines(group: Group, indent: str) -> Iterator[str]:
        yield line(group.sums, indent + markdown_cell(shown(group.level, group.text, 80)))
        for child in group.children:
            yield from group_lines(child, indent + "&emsp;")
        if group.rest is not None:
            yield rest_line(group.rest, indent + "&emsp;")

    id_ = markdown_cell(image.id[:8] or "none")
    yield f"**{markdown_cell(image.title)}** load {image.load:,}, ram {image.ram:,}, file {image.file:,}, id {id_}"
    yield ""
    if report.filters:
        yield f"Only rows with {' and '.join(map(markdown_cell, report.filters))}."
        yield ""
    yield f"| {metric} | | share | n | {' / '.join(report.by)} |"
    yield "|---:|---:|---:|---:|---|"
    for group in tree.top:
        yield from group_lines(group, "")
    if tree.rest is not None:
        yield rest_line(tree.rest, "")
    for group in [*tree.others, *([tree.unattributed] if tree.unattributed else [])]:
        yield from group_lines(group, "")
    if report.left_out is not None:
        yield line(report.left_out, "left out by the filter")
    yield f"| **{whole:,}** | {kib(whole)} | {'100.0%' if whole else ''} | | = sum of rows |"
