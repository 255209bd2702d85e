"""Add to a report's rows the bytes that leave the image with each operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.attribution.level_labels import NEUTRAL
from sizeguard.attribution.size_report import Report
from sizeguard.names.dtype_of import dtype_of

if TYPE_CHECKING:
    from sizeguard.attribution.analysis import Analysis
    from sizeguard.linkgraph.retained import Retained


def with_shares(report: Report, analysis: Analysis) -> Report:
    """Add the bytes that removing each operator would free, and each dtype's part of them.

    The section graph decides. What a dtype alone saves is a matter of predictions.

    The report is returned unchanged without a graph, at other levels, or if filters leave rows out.
    """
    users = analysis.users
    if users is None or report.left_out is not None:
        return report
    # takes 51 ms; only this function needs it
    from sizeguard.linkgraph.retained import retained_by, retained_by_dtype

    if report.by == ("operator",):
        costs = retained_by(users)
        rows = (costs.get(report.keys(i)[0]) for i in range(len(report)))
        return _with_columns(report, [(c.exclusive, c.shared) if c else (0, 0) for c in rows])
    if report.by == ("operator", "dtype"):
        branches = retained_by_dtype(users, dtype_of)
        return _with_columns(report, _by_dtype(report, branches, analysis.inlined()))
    return report


def _with_columns(report: Report, values: Sequence[tuple[int, int]]) -> Report:
    columns = np.array(values, np.int64).reshape(-1, 2)
    return replace(report, exclusive=columns[:, 0].copy(), shared=columns[:, 1].copy())


def _by_dtype(
    report: Report,
    costs: dict[tuple[str, str], Retained],
    inlined: dict[tuple[str, str], int],
) -> list[tuple[int, int]]:
    """Return the exclusive and shared bytes of rows by operator and dtype.

    Each operator's rows sum to its costs. Inlined code of a branch counts for the branch; code
    outside branches counts for the row without a dtype.
    """
    rows: dict[str, list[int]] = {}
    for i in range(len(report)):
        rows.setdefault(report.keys(i)[0], []).append(i)
    values = [(0, 0)] * len(report)
    for operator in {name for name, _ in costs}.intersection(rows):
        mine = rows[operator]
        dtypes = [report.keys(i)[1] for i in mine]
        rest = next((k for k, dtype in enumerate(dtypes) if dtype == NEUTRAL), 0)
        sums = {dtype: cost for (name, dtype), cost in costs.items() if name == operator}
        for column in (0, 1):
            total = sum(_pair(cost)[column] for cost in sums.values())
            room = [int(report.load[i]) if column == 0 else total for i in mine]
            wanted = [_pair(sums[d])[column] if d and d in sums else 0 for d in dtypes]
            if column == 0:
                wanted = [
                    w + inlined.get((operator, d), 0) for w, d in zip(wanted, dtypes, strict=True)
                ]
            for i, value in zip(mine, _spread(total, wanted, room, rest), strict=True):
                exclusive, shared = values[i]
                values[i] = (value, shared) if column == 0 else (exclusive, value)
    return values


def _pair(cost: Retained) -> tuple[int, int]:
    return cost.exclusive, cost.shared


def _spread(total: int, wanted: Sequence[int], room: Sequence[int], rest: int) -> list[int]:
    """Divide a total among rows: first as wanted, then to the row `rest`, then to rows with room.

    No row gets more than its room.
    """
    given: list[int] = []
    for k, (want, most) in enumerate(zip(wanted, room, strict=True)):
        given.append(min(want, most, total - sum(given)) if k != rest else 0)
    for k in (rest, *range(len(room))):
        given[k] += min(room[k] - given[k], total - sum(given))
    return given
