"""Write a report or a diff as one HTML file that needs nothing else.

The page has a treemap with levels, a search and a table.

The data are compressed columns in base64. Only the names of the largest rows of the outermost level
are part of the page's markup, escaped, for readers whose browser runs no scripts.
Half a million symbols of libtorch_cpu.so make 6 MB.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.label import RowTexts, used_texts
from sizeguard.columns.texts import Int
from sizeguard.report.writers.plot import legend
from sizeguard.report.writers.printable import NOTHING, shown

_PAGE = Path(__file__).parent / "page"
_SCRIPTS = ("data.js", "tree.js", "labels.js", "treemap.js", "table.js", "main.js")
_LONGEST = 400  # characters of a name
_PLAIN_ROWS = 30  # of the table that is shown if scripts are off
_PLAIN_COLUMNS = 3
_PIECE = 3 << 20  # bytes of a line of base64: a multiple of 3


_Level = tuple[str, npt.NDArray[np.int64], list[str]]  # name, number of each row's value, values


@dataclass(frozen=True, slots=True)
class PageColumn:
    """A column of numbers.

    has_area:  whether it can give the sizes of boxes
    is_signed: whether the numbers are differences
    """

    name: str
    values: Int
    has_area: bool = True
    is_signed: bool = False


def html_page(
    title: str,
    columns: Sequence[PageColumn],
    levels: Sequence[tuple[str, RowTexts]],
    extra: dict[str, object],
) -> Iterator[str]:
    """Write the page in pieces.

    levels: name and values of each level of the rows
    extra:  more keys of the header that data.js reads
    """
    title = shown("title", title)
    script = "".join(f"{(_PAGE / name).read_text(encoding='utf-8')}\n" for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    marker = "\0data\0"
    named = [(level, *_shown(level, label)) for level, label in levels]
    page = Template((_PAGE / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        style=(_PAGE / "page.css").read_text(encoding="utf-8"),
        hash=f"sha256-{digest}",
        whole=html.escape(f" The whole image: {extra['whole']}." if "whole" in extra else ""),
        legend=legend(_words(title, columns, named)),
        rows="\n".join(_plain_rows(columns[:_PLAIN_COLUMNS], levels)),
        data=marker,
        script=script,
    )
    before, _, after = page.partition(marker)
    yield before
    data = gzip.compress(_data(title, columns, named, extra), 6, mtime=0)
    for start in range(0, len(data), _PIECE):
        yield base64.b64encode(data[start : start + _PIECE]).decode()
    yield after


def _plain_rows(
    columns: Sequence[PageColumn], levels: Sequence[tuple[str, RowTexts]]
) -> Iterator[str]:
    """Write the largest rows of the outermost level, the others and the sum as a table's rows."""
    level, label = levels[0]
    sums = np.zeros((len(columns), len(label.texts)), np.int64)
    for i, column in enumerate(columns):
        np.add.at(sums[i], label.ids, column.values)
    size = np.abs(sums[0])
    order = np.argsort(-size, kind="stable")
    order = order[size[order] > 0]
    heads = "".join(f'<th scope="col">{html.escape(column.name)}</th>' for column in columns)
    yield f'<tr>{heads}<th scope="col">{html.escape(level)}</th></tr>'
    for i in order[:_PLAIN_ROWS].tolist():
        text = label.texts[i]
        name = _cut(shown(level, text)) if text else "–"
        yield _plain_row(columns, sums[:, i].tolist(), f"<bdi>{html.escape(name)}</bdi>")
    rest = order[_PLAIN_ROWS:]
    if len(rest):
        yield _plain_row(columns, sums[:, rest].sum(axis=1).tolist(), f"{len(rest):,} smaller")
    yield _plain_row(columns, sums.sum(axis=1).tolist(), "= sum of rows")


def _plain_row(columns: Sequence[PageColumn], values: Sequence[int], name: str) -> str:
    cells = "".join(
        f"<td>{value:+,}</td>" if column.is_signed else f"<td>{value:,}</td>"
        for column, value in zip(columns, values, strict=True)
    )
    return f'<tr>{cells}<th scope="row">{name}</th></tr>'


def _words(title: str, columns: Sequence[PageColumn], named: Sequence[_Level]) -> Iterator[str]:
    """List the words in the title, in heads of columns and in values of levels."""
    heads = {word for column in columns for word in column.name.split()} | {*title.split()}
    of_columns = ("load", "file", "ram", "exclusive", "shared", "n")
    yield from (word for word in of_columns if word in heads)
    levels = {level: texts for level, _, texts in named}
    groups = {*levels.get("operator", ()), *levels.get("component", ())}
    yield from (word for word in ("core", "shared by operators") if {word, f"({word})"} & groups)
    yield from ("neutral",) if "neutral" in levels.get("dtype", ()) else ()
    yield from ("moved",) if "moved" in levels.get("cause", ()) else ()
    yield from (NOTHING,) if any("" in texts[:1] for texts in levels.values()) else ()


def _data(
    title: str,
    columns: Sequence[PageColumn],
    named: Sequence[_Level],
    extra: dict[str, object],
) -> bytes:
    """Encode the data that data.js reads.

    Length of the header, header, columns as 64-bit floats (exact for integers up to 2^53), levels.
    """
    order = _neighbours([ids for _, ids, _ in named], np.abs(columns[0].values))
    header = {
        "title": title,
        "rows": len(order),
        "columns": [
            {"name": column.name, "area": column.has_area, "signed": column.is_signed}
            for column in columns
        ],
        "levels": [
            {"name": level, "count": len(texts), "bytes": _length(texts)}
            for level, _, texts in named
        ],
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
    """Return the number of each row's value, and the values as shown, ascending, each once."""
    used = used_texts(label)
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
    """Order the rows so that rows of one group are neighbours, on each level.

    The largest groups and rows come first.
    """
    keys: list[npt.NDArray[np.int64]] = []
    group = np.zeros(len(size), np.int64)
    for ids in levels:
        group = np.unique(group * (int(ids.max(initial=0)) + 1) + ids, return_inverse=True)[1]
        total = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
        np.add.at(total, group, size)
        keys += [-total[group], group]
    return np.lexsort((-size, *keys[::-1]))
