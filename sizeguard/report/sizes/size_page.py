"""Write a report as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sizeguard.attribution.size_report import Report
from sizeguard.columns.label import Label
from sizeguard.columns.texts import Texts
from sizeguard.report.sizes.size_tree import count_of_aliases
from sizeguard.report.writers.html_page import PageColumn, html_page
from sizeguard.report.writers.printable import shown
from sizeguard.report.writers.size_rows import short_id

_MOST_ALIASES = 3


def report_html(report: Report) -> Iterator[str]:
    """Write the page in pieces."""
    names = ("load", "file", "ram")
    first = report.sort if report.sort in names else "load"
    columns = [
        PageColumn(name, getattr(report, name))
        for name in sorted(names, key=lambda name: name != first)
    ]
    # Several operators share the same bytes, so these have no sum and no boxes.
    columns += [
        PageColumn(name, getattr(report, name), has_area=name != "shared")
        for name in ("exclusive", "shared")
        if getattr(report, name) is not None
    ]
    columns.append(PageColumn("n", report.count, has_area=False))
    extra: dict[str, object] = {}
    levels = zip(report.by, report.labels, strict=True)
    if report.left_out is not None:
        extra["leftOut"] = {name: getattr(report.left_out, name) for name in names}
    arch = "" if report.image.arch in report.image.title else f"  {report.image.arch}"
    yield from html_page(
        f"{report.image.title}{arch}{short_id(report.image)}",
        columns,
        [(level, _with_aliases(report, level, label)) for level, label in levels],
        extra,
    )


def _with_aliases(report: Report, level: str, label: Label) -> Label:
    """Add the other names of a symbol's bytes to its text, so that a search finds them."""
    if level != "symbol" or report.aliases is None:
        return label
    ids = label.ids.copy()
    texts: list[str | bytes] = [*label.texts.all_raw()]
    for row, others in enumerate(report.aliases.of_rows(label)):
        if others:
            names = ", ".join(shown(level, name) for name in others[:_MOST_ALIASES])
            more = ", …" if len(others) > _MOST_ALIASES else ""
            name = shown(level, label.texts[int(label.ids[row])])
            ids[row] = len(texts)
            texts.append(f"{name} (+{count_of_aliases(len(others))}: {names}{more})")
    return Label(ids.astype(np.int32), Texts.of(texts))
