"""Write the list of waivers: terminal, json, csv, markdown, and annotations for GitHub."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import asdict

from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.report.writers.github import WARNING, Annotation, workflow_commands
from sizeguard.report.writers.printable import counted, plain_text, printable
from sizeguard.report.writers.source_place import place_of
from sizeguard.report.writers.table import format_table

SCHEMA_VERSION = 1


def waiver_list(waivers: Sequence[Waiver], today: datetime.date, format_: str) -> str:
    """Write a line or row for each waiver; without waivers, lines are no text."""
    if format_ == "json":
        rows = [{**asdict(each), "days": _days(each, today)} for each in waivers]
        return json.dumps({"schema_version": SCHEMA_VERSION, "waivers": rows}, indent=2)
    if format_ in ("csv", "markdown"):
        head = ("expires", "days", "bytes", "metric", "app", "target", "owner", "reason")
        cells = [
            (
                *(each.expires, str(_days(each, today)), str(each.bytes), each.metric),
                *(each.app, each.target, each.owner, each.reason),
            )
            for each in waivers
        ]
        return format_table(head, cells, format_)
    lines = [(each, _line(each, today)) for each in waivers]
    if format_ == "github":
        return workflow_commands(
            [Annotation(WARNING, "Waiver", text, place_of(each.source)) for each, text in lines]
        )
    return plain_text(text for _, text in lines)


def _line(waiver: Waiver, today: datetime.date) -> str:
    days = _days(waiver, today)
    when = (
        f"ended {counted(-days, 'day')} ago" if days < 0
        else "ends today" if days == 0
        else f"ends in {counted(days, 'day')}"
    )  # fmt: skip
    scope = " ".join(filter(None, (waiver.app, waiver.target))) or "all apps"
    return (
        f"{waiver.expires}  {when}: {waiver.bytes:,} bytes of {printable(waiver.metric)} for"
        f" {printable(scope)}, {printable(waiver.owner)}: {printable(waiver.reason)}"
    )


def _days(waiver: Waiver, today: datetime.date) -> int:
    return (datetime.date.fromisoformat(waiver.expires) - today).days
