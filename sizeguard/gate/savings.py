"""Turns what a full and a selective build load, by operator, into what the selection saved."""

from __future__ import annotations

from collections.abc import Mapping

from sizeguard.gate.result import Saving


def savings(full: Mapping[str, int], selective: Mapping[str, int]) -> tuple[Saving, ...]:
    """Sorted by what was saved; the sums are the differences of the loads."""
    rows = [Saving(name, full.get(name, 0), selective.get(name, 0)) for name in {*full, *selective}]
    return tuple(sorted((row for row in rows if row.full or row.selective), key=lambda row: (-row.saved, row.operator)))
