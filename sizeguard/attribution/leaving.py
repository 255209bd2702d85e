"""Reports with shares: the bytes that leave with each operator, or with each of its dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.attribution.level_labels import NEUTRAL
from sizeguard.attribution.size_report import Report
from sizeguard.base.errors import InconclusiveError
from sizeguard.names.dtype_of import dtype_of

if TYPE_CHECKING:
    from sizeguard.linkgraph.graph import SectionGraph
    from sizeguard.linkgraph.retained import Retained


def with_shares(report: Report, path: Path, objects: Sequence[Path]) -> Report:
    """Add the bytes that leave with each row, from the section graph of the link.

    The report stays as it is if it has other levels, if rows are left out, or if too little is
    known of the link for a graph.
    """
    if report.by not in (("operator",), ("operator", "dtype")) or report.left_out is not None:
        return report
    from sizeguard.linkgraph.open_graph import graph_of_path  # 51 ms, for these reports alone

    try:
        graph = graph_of_path(path, objects)
    except InconclusiveError:
        return report
    return _with_columns(report, graph)


def _with_columns(report: Report, graph: SectionGraph) -> Report:
    from sizeguard.linkgraph.retained import retained_by_dtype, retained_of  # see with_shares
    from sizeguard.linkgraph.subjects import operators

    table = operators(graph)
    rows = [report.keys(i) for i in range(len(report))]
    # Operators that share a kernel share a row, and leave together.
    owners = {
        name: [node for part in name.split(", ") for node in table.get(part, [])]
        for name in {row[0] for row in rows}
    }
    owners = {name: nodes for name, nodes in owners.items() if nodes}
    if not owners:
        return report
    costs = retained_of(graph, owners)
    branches = retained_by_dtype(graph, dtype_of, owners) if len(report.by) > 1 else {}
    values = [_row(row, rows, costs, branches) for row in rows]
    columns = np.array(values, np.int64).reshape(-1, 2)
    return replace(report, exclusive=columns[:, 0].copy(), shared=columns[:, 1].copy())


def _row(
    row: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    costs: dict[str, Retained],
    branches: dict[tuple[str, str], Retained],
) -> tuple[int, int]:
    """Return the exclusive and shared bytes of a row.

    A row of a dtype has its branch's bytes; the operator's row without a dtype has the rest.
    """
    cost = costs.get(row[0])
    if cost is None:
        return 0, 0
    if len(row) == 1:
        return cost.exclusive, cost.shared
    if (row[0], row[1]) in branches:
        branch = branches[row[0], row[1]]
        return branch.exclusive, branch.shared
    rest = NEUTRAL if (row[0], NEUTRAL) in rows else ""
    if row[1] != rest:
        return 0, 0
    others = [
        branches[row[0], other[1]]
        for other in rows
        if other[0] == row[0] and (row[0], other[1]) in branches
    ]
    return max(cost.exclusive - sum(b.exclusive for b in others), 0), max(
        cost.shared - sum(b.shared for b in others), 0
    )
