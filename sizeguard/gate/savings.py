"""Turns the reports of a full and a selective build into what the selection saved, by operator."""

from __future__ import annotations

from sizeguard.attribution.result import Report
from sizeguard.gate.result import Saving


def savings(full: Report, selective: Report) -> tuple[Saving, ...]:
    """Both reports are by operator. Sorted by what was saved; the sums are the differences of the loads."""
    before = {row.keys[0]: row.load for row in full.rows}
    after = {row.keys[0]: row.load for row in selective.rows}
    rows = [Saving(name, before.get(name, 0), after.get(name, 0)) for name in {*before, *after}]
    return tuple(sorted((row for row in rows if row.full or row.selective), key=lambda row: (-row.saved, row.operator)))


def loads(report: Report) -> dict[str, int]:
    """Loaded bytes of each row of a report by operator; they sum to the load."""
    return {row.keys[0]: row.load for row in report.rows if row.load}
