"""Write the list of waivers: terminal, json, and annotations for GitHub."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import asdict

from sizeguard.gate.policy.terms_result import Waiver
from sizeguard.report.writers.github import WARNING, Annotation, workflow_commands
from sizeguard.report.writers.printable import counted, plain_text, printable
from sizeguard.report.writers.source_place import place_of

SCHEMA_VERSION = 1


def waiver_list(waivers: Sequence[Waiver], today: datetime.date, format_: str) -> str:
    """Write one line for each waiver; no text without waivers, except in JSON."""
    if format_ == "json":
        rows = [{**asdict(each), "days": _days(each, today)} for each in waivers]
        return json.dumps({"schema_version": SCHEMA_VERSION, "waivers": rows}, indent=2)
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
