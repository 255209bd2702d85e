"""Write the entries that cleaning removed from the store, as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from sizeguard.report.writers.printable import counted, plain_text
from sizeguard.report.writers.style import size_text
from sizeguard.snapshots.cleaning_result import Cleaning, StorePart

SCHEMA_VERSION = 1
_DAY = 86400


def cleaning_text(cleaning: Cleaning, format_: str) -> str:
    """Write a cleaning in the format terminal or json."""
    if format_ == "json":
        content = {
            "schema_version": SCHEMA_VERSION,
            **asdict(cleaning),
            "goes": asdict(cleaning.goes),
        }
        return json.dumps(
            {("dry_run" if k == "is_dry" else k): v for k, v in content.items()}, indent=1
        )
    return plain_text(_lines(cleaning))


def _lines(cleaning: Cleaning) -> Iterator[str]:
    yield f"store   {cleaning.folder}: {_counted(cleaning.held)}"
    limits = f"{size_text(cleaning.max_size)}, {cleaning.max_age // _DAY:,} days since the last use"
    yield f"limits  {limits}{f' ({cleaning.place})' if cleaning.place else ''}"
    for part, why in (
        (cleaning.old, "not used within the limit"),
        (cleaning.over, "above the size limit: least recently used"),
        (cleaning.lost, "snapshots without an entry"),
    ):
        if part.count:
            yield f"goes    {_counted(part)}: {why}"
    if cleaning.in_use.count:
        users = counted(cleaning.users, "running process", "running processes")
        yield f"kept {_counted(cleaning.in_use)}: {users} may use them"
    done = "would remove" if cleaning.is_dry else "removed"
    yield f"{done} {_counted(cleaning.goes)}" if cleaning.goes.count else "nothing to remove"


def _counted(part: StorePart) -> str:
    return f"{counted(part.count, 'entry', 'entries')}, {size_text(part.size)}"
