"""Write baselines, their updates and their history."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict

from sizeguard.gate.review_result import Baseline, BaselineEntry, Update
from sizeguard.report.writers.printable import plain_text
from sizeguard.report.writers.table import format_table

_LOAD, _SIZES = (3,), (3, 4, 5)  # columns of numbers


def update_text(updates: Sequence[Update], width: int | None = None) -> str:
    """Write a row for each update, then the files."""
    head = ("app", "target", "toolchain", "load", "change")
    table = format_table(head, [*map(_update, updates)], "terminal", width, _LOAD)
    files = dict.fromkeys(f"{each.path.parent.name}/{each.path.name}" for each in updates)
    return f"{table}\n\n{plain_text(f'wrote {file}' for file in files)}"


def _update(update: Update) -> tuple[str, ...]:
    new, old = update.new, update.old
    change = (
        "new"
        if old is None
        else "unchanged"
        if old == new
        else f"{new.load - old.load:+,} since the last"
    )
    return new.app, new.target, new.toolchain, f"{new.load:,}", change


def baselines_text(baselines: Sequence[Baseline], format_: str, width: int | None = None) -> str:
    """Write the baselines: terminal, json, csv or markdown."""
    if format_ == "json":
        rows = [
            {
                "app": b.app,
                "target": b.target,
                "toolchain": b.toolchain,
                "tools": b.tools,
                "load": b.load,
                "ram": b.ram,
                "file": b.file,
                "page_slack": b.page_slack,
                "operators": dict(b.operators),
                "needed": None if b.needed is None else list(b.needed),
                "tables": {level: dict(sizes) for level, sizes in (b.tables or {}).items()},
            }
            for b in baselines
        ]
        return json.dumps({"schema_version": 1, "baselines": rows}, indent=1)
    if not baselines:
        return "there are no baselines; run sizeguard baseline update"
    table = [
        (b.app, b.target, b.toolchain, *(_number(x, format_) for x in (b.load, b.ram, b.file)))
        for b in baselines
    ]
    head = ("app", "target", "toolchain", "load", "ram", "file")
    return format_table(head, table, format_, width, _SIZES)


def _number(value: int | None, format_: str, pattern: str = ",") -> str:
    """Write a number; CSV has no separators of thousands."""
    if value is None:
        return ""
    return str(value) if format_ == "csv" else format(value, pattern)


def log_text(entries: Sequence[BaselineEntry], format_: str) -> str:
    """Write the changes of each baseline: terminal, json, csv or markdown."""
    if format_ == "json":
        return json.dumps(
            {"schema_version": 1, "entries": [asdict(entry) for entry in entries]}, indent=1
        )
    if format_ == "csv" or (format_ == "markdown" and entries):
        head = ("file", "date", "commit", "load", "change", "subject", "author")
        removed = "" if format_ == "csv" else "removed"
        rows = [
            (
                *(each.file, each.date, each.commit),
                _number(each.load, format_) or removed,
                _number(each.delta, format_, "+,"),
                *(each.subject, each.author),
            )
            for each in entries
        ]
        return format_table(head, rows, format_)
    if not entries:
        return "no baseline was ever committed"
    lines: list[str] = []
    for file, group in itertools.groupby(entries, key=lambda entry: entry.file):
        lines += ["", file] if lines else [file]
        lines.append(
            f"  {'date':<10}  {'commit':<10}  {'load':>12} {'change':>9}  subject (author)"
        )
        for entry in group:
            load = "removed" if entry.load is None else f"{entry.load:,}"
            delta = "" if entry.delta is None else f"{entry.delta:+,}"
            lines.append(
                f"  {entry.date}  {entry.commit}  {load:>12} {delta:>9}"
                f"  {entry.subject} ({entry.author})"
            )
    return plain_text(lines)
