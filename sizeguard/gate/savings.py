"""Turns the reports of a full and a selective build into what the selection saved, by operator."""

from __future__ import annotations

from dataclasses import dataclass

from sizeguard.attribution.attribute import OUTSIDE, Report
from sizeguard.attribution.reach import CORE, SHARED


@dataclass(frozen=True, slots=True)
class Saving:
    """Loaded bytes of one operator, or of what is none: (core), (shared by operators), (headers, tables, padding)."""

    operator: str
    full: int
    selective: int

    @property
    def saved(self) -> int:
        return self.full - self.selective

    @property
    def is_operator(self) -> bool:
        return self.operator not in (CORE, SHARED, OUTSIDE)


def savings(full: Report, selective: Report) -> tuple[Saving, ...]:
    """Both reports are by operator. Sorted by what was saved; the sums are the differences of the loads."""
    before = {row.keys[0]: row.load for row in full.rows}
    after = {row.keys[0]: row.load for row in selective.rows}
    rows = [Saving(name, before.get(name, 0), after.get(name, 0)) for name in {*before, *after}]
    return tuple(sorted((row for row in rows if row.full or row.selective), key=lambda row: (-row.saved, row.operator)))


def loads(report: Report) -> dict[str, int]:
    """Loaded bytes of each row of a report by operator; they sum to the load."""
    return {row.keys[0]: row.load for row in report.rows if row.load}
