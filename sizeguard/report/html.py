"""Turns a report or a diff into one HTML file that needs nothing else: a treemap to go into, a search, a table.

The data are columns, compressed, in base64: no name of a symbol is ever part of the page's markup. Half a million symbols of
libtorch_cpu.so make 6 MB.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import Label, RowTexts
from sizeguard.attribution.diff_result import CAUSES, Diff
from sizeguard.attribution.result import Report
from sizeguard.formats.texts import Int, Texts
from sizeguard.report.names import shown

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("data.js", "tree.js", "treemap.js", "table.js", "main.js")
_LONGEST = 400  # characters of a name
_PIECE = 3 << 20  # bytes of a line of base64: a multiple of 3


@dataclass(frozen=True, slots=True)
class _Column:
    """area: boxes can be as large as this. signed: a difference."""

    name: str
    values: Int
    area: bool = True
    signed: bool = False


def report_html(report: Report) -> Iterator[str]:
    names = ("load", "file", "ram")
    first = report.sort if report.sort in names else "load"
    columns = [_Column(name, getattr(report, name)) for name in sorted(names, key=lambda name: name != first)]
    columns += [_Column(name, getattr(report, name)) for name in ("exclusive", "shared") if getattr(report, name) is not None]
    columns.append(_Column("n", report.count, area=False))
    extra: dict[str, object] = {}
    if report.left_out is not None:
        extra["leftOut"] = {name: getattr(report.left_out, name) for name in names}
    id_ = f"  id {report.image.id[:8]}" if report.image.id else ""
    yield from _page(f"{report.image.title}  {report.image.arch}{id_}", columns, list(zip(report.by, report.labels, strict=True)), extra)


def diff_html(diff: Diff) -> Iterator[str]:
    columns = [
        _Column("change", diff.delta, signed=True),
        _Column("old", diff.old, area=False),
        _Column("new", diff.new, area=False),
        _Column("old n", diff.old_count, area=False),
        _Column("new n", diff.new_count, area=False),
    ]
    causes = Label(diff.cause.astype(np.int32), Texts.of(cause.replace("_", " ") for cause in CAUSES))
    extra: dict[str, object] = {}
    if diff.left_out is not None:
        extra["leftOut"] = {"change": getattr(diff.left_out, diff.metric)}
    title = f"{diff.old_image.title} → {diff.new_image.title}, change of {diff.metric}"
    yield from _page(title, columns, [*zip(diff.by, diff.labels, strict=True), ("cause", causes)], extra)


def _page(title: str, columns: Sequence[_Column], levels: Sequence[tuple[str, RowTexts]], extra: dict[str, object]) -> Iterator[str]:
    title = shown("title", title)
    script = "".join(f"{(_PAGE / name).read_text(encoding='utf-8')}\n" for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    marker = "\0data\0"
    page = Template((_PAGE / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        style=(_PAGE / "page.css").read_text(encoding="utf-8"),
        hash=f"sha256-{digest}",
        data=marker,
        script=script,
    )
    before, _, after = page.partition(marker)
    yield before
    data = gzip.compress(_data(title, columns, levels, extra), 6, mtime=0)
    for start in range(0, len(data), _PIECE):
        yield base64.b64encode(data[start : start + _PIECE]).decode()
    yield after


def _data(title: str, columns: Sequence[_Column], levels: Sequence[tuple[str, RowTexts]], extra: dict[str, object]) -> bytes:
    """What data.js reads: length of the header, header, columns as 64-bit floats (exact for whole numbers up to 2^53), levels."""
    named = [(level, *_shown(level, label)) for level, label in levels]
    order = _neighbours([ids for _, ids, _ in named], np.abs(columns[0].values))
    header = {
        "title": title,
        "rows": len(order),
        "columns": [{"name": column.name, "area": column.area, "signed": column.signed} for column in columns],
        "levels": [{"name": level, "count": len(texts), "bytes": _length(texts)} for level, _, texts in named],
        **extra,
    }
    text = json.dumps(header).encode()
    parts = [len(text).to_bytes(4, "little"), text]
    parts += [column.values[order].astype("<f8").tobytes() for column in columns]
    for _, ids, texts in named:
        parts += [ids[order].astype("<u4").tobytes(), "\n".join(texts).encode()]
    return b"".join(parts)


def _length(texts: Sequence[str]) -> int:
    return sum(len(text.encode()) for text in texts) + max(len(texts) - 1, 0)


def _shown(level: str, label: RowTexts) -> tuple[npt.NDArray[np.int64], list[str]]:
    """The values as they are shown, in ascending order, each once, and the number of each row's."""
    used = np.flatnonzero(np.bincount(label.ids, minlength=len(label.texts)))
    found = [label.texts[i] for i in used.tolist()]
    names = [_cut(shown(level, text)) if text else "" for text in found]
    texts = sorted(set(names))
    number = {text: i for i, text in enumerate(texts)}
    ids = np.zeros(len(label.texts), np.int64)
    ids[used] = [number[name] for name in names]
    return ids[label.ids], texts


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 100]}…{text[-99:]}"


def _neighbours(levels: Sequence[npt.NDArray[np.int64]], size: Int) -> npt.NDArray[np.intp]:
    """An order in which rows of one group of each level are neighbours, the largest groups and rows first."""
    keys: list[npt.NDArray[np.int64]] = []
    group = np.zeros(len(size), np.int64)
    for ids in levels:
        group = np.unique(group * (int(ids.max(initial=0)) + 1) + ids, return_inverse=True)[1]
        total = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
        np.add.at(total, group, size)
        keys += [-total[group], group]
    return np.lexsort((-size, *keys[::-1]))
