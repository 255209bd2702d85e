"""Write a report as an HTML page."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.attribution.size_report import Report
from sizeguard.report.writers.html_page import PageColumn, html_page


def report_html(report: Report) -> Iterator[str]:
    """Write the page in pieces."""
    names = ("load", "file", "ram")
    first = report.sort if report.sort in names else "load"
    columns = [
        PageColumn(name, getattr(report, name))
        for name in sorted(names, key=lambda name: name != first)
    ]
    columns += [
        PageColumn(name, getattr(report, name))
        for name in ("exclusive", "shared")
        if getattr(report, name) is not None
    ]
    columns.append(PageColumn("n", report.count, area=False))
    extra: dict[str, object] = {}
    if report.left_out is not None:
        extra["leftOut"] = {name: getattr(report.left_out, name) for name in names}
    id_ = f"  id {report.image.id[:8]}" if report.image.id else ""
    yield from html_page(
        f"{report.image.title}  {report.image.arch}{id_}",
        columns,
        list(zip(report.by, report.labels, strict=True)),
        extra,
    )
