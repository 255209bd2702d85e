"""Write baselines, their updates and their history."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict

from sizeguard.gate.review_result import Baseline, BaselineEntry, Update
from sizeguard.report.writers.printable import plain_text


def update_text(updates: Sequence[Update]) -> str:
    """Write a line for each update."""
    return plain_text(_update(update) for update in updates)


def _update(update: Update) -> str:
    new, old = update.new, update.old
    change = (
        "new"
        if old is None
        else "unchanged"
        if old == new
        else f"{new.load - old.load:+,} since the last"
    )
    return (
        f"{new.app:<12} {new.target:<14} {new.toolchain:<24} load {new.load:>9,}  {change} "
        f" {update.path.parent.name}/{update.path.name}"
    )


def baselines_text(baselines: Sequence[Baseline], format_: str) -> str:
    """Write the baselines as a table or as JSON."""
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
    lines = [
        f"{'app':<12} {'target':<14} {'toolchain':<24} {'load':>9} {'ram':>7} {'file':>9}"
        f" {'rows':>5}"
    ]
    lines += [
        f"{b.app:<12} {b.target:<14} {b.toolchain:<24} {b.load:>9,} {b.ram:>7,} {b.file:>9,}"
        f" {len(b.operators):>5}"
        for b in baselines
    ]
    return plain_text(lines)


def log_text(entries: Sequence[BaselineEntry], format_: str) -> str:
    """Write the changes of each baseline, as text or as JSON."""
    if format_ == "json":
        return json.dumps(
            {"schema_version": 1, "entries": [asdict(entry) for entry in entries]}, indent=1
        )
    if not entries:
        return "no baseline was ever committed"
    lines: list[str] = []
    for file, group in itertools.groupby(entries, key=lambda entry: entry.file):
        lines += ["", file] if lines else [file]
        for entry in group:
            load = "removed" if entry.load is None else f"{entry.load:,}"
            delta = "" if entry.delta is None else f"{entry.delta:+,}"
            lines.append(
                f"  {entry.date}  {entry.commit}  {load:>12} {delta:>9}"
                f"  {entry.subject}  ({entry.author})"
            )
    return plain_text(lines)
