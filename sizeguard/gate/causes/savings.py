"""The bytes that a selection saves, by operator."""

from __future__ import annotations

from collections.abc import Mapping

from sizeguard.gate.gate_result import Saving


def savings(full: Mapping[str, int], selective: Mapping[str, int]) -> tuple[Saving, ...]:
    """Compare the loaded bytes of a full and a selective build, by operator.

    The rows are sorted by bytes saved; they sum to the difference of the loads.
    """
    rows = [Saving(name, full.get(name, 0), selective.get(name, 0)) for name in {*full, *selective}]
    return tuple(
        sorted(
            (row for row in rows if row.full or row.selective),
            key=lambda row: (-row.saved, row.operator),
        )
    )
