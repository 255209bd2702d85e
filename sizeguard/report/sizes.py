"""Turns a size report into text: terminal, json, csv, markdown."""

from __future__ import annotations

import csv
import io
import json

from sizeguard.attribution.result import Report, Row

SCHEMA_VERSION = 1
FORMATS = ("terminal", "json", "csv", "markdown")


def report_text(report: Report, format_: str, limit: int) -> str:
    """The text of one format. limit: rows shown, 0 for all; JSON and CSV are never cut."""
    if format_ == "json":
        return json.dumps(report_json(report), indent=1)
    if format_ == "csv":
        return _csv(report)
    return _markdown(report, limit) if format_ == "markdown" else _terminal(report, limit)


def report_json(report: Report) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "image": {"path": str(report.path), "format": "elf", "arch": report.arch, "id": report.id},
        "totals": {"file": report.file, "load": report.load, "ram": report.ram},
        "by": list(report.by),
        "rows": [
            {**dict(zip(report.by, row.keys, strict=True)), "file": row.file, "load": row.load, "count": row.count} for row in report.rows
        ],
    }


def _csv(report: Report) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*report.by, "file", "load", "count"])
    writer.writerows([*row.keys, row.file, row.load, row.count] for row in report.rows)
    return out.getvalue().rstrip("\n")


def _markdown(report: Report, limit: int) -> str:
    lines = [f"**{report.title}**: load {report.load:,}, ram {report.ram:,}, file {report.file:,}", ""]
    lines += [f"| load | file | n | {' | '.join(report.by)} |", f"|---:|---:|---:|{'---|' * len(report.by)}"]
    shown, rest = _cut(report, limit)
    for row in shown:
        keys = " | ".join(key.replace("|", "\\|") or "–" for key in row.keys)
        lines.append(f"| {row.load:,} | {row.file:,} | {row.count:,} | {keys} |")
    if rest is not None:
        lines.append(f"| {rest.load:,} | {rest.file:,} | {rest.count:,} | {rest.keys[0]} |{' |' * (len(report.by) - 1)}")
    lines.append(f"| **{report.load:,}** | **{report.file:,}** | | = sum of rows |{' |' * (len(report.by) - 1)}")
    return "\n".join(lines)


def _terminal(report: Report, limit: int) -> str:
    arch = "" if report.arch in report.title else f"  {report.arch}"
    head = f"{report.title}{arch}  id {report.id[:8] or 'none'}"
    lines = [f"{head:<56} load {report.load:,}   ram {report.ram:,}   file {report.file:,}", ""]
    lines.append(f"{'load':>10} {'share':>6} {'total':>6} {'file':>10} {'n':>5}  {'  '.join(report.by)}")
    shown, rest = _cut(report, limit)
    running = 0
    for row in [*shown, *([rest] if rest else [])]:
        running += row.load
        share = f"{100 * row.load / report.load:5.1f}%" if report.load else "     –"
        total = f"{100 * running / report.load:5.1f}%" if report.load else "     –"
        keys = "  ".join(key or "–" for key in row.keys)
        lines.append(f"{row.load:>10,} {share} {total} {row.file:>10,} {row.count:>5}  {keys}")
    lines.append(f"{report.load:>10,} {'100.0%':>6} {'':>6} {report.file:>10,} {'':>5}  = sum of rows")
    return "\n".join(lines)


def _cut(report: Report, limit: int) -> tuple[tuple[Row, ...], Row | None]:
    """The first rows, and the others as one."""
    if limit == 0 or len(report.rows) <= limit:
        return report.rows, None
    others = report.rows[limit:]
    text = f"{len(others)} smaller rows, at most {max(row.load for row in others):,} bytes each"
    rest = Row((text,), sum(row.file for row in others), sum(row.load for row in others), sum(row.count for row in others))
    return report.rows[:limit], rest
