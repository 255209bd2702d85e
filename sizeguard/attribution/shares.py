"""Turns a report by operator, or operator and dtype, and the link's section graph into the report with what leaves with each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sizeguard.attribution.analyse import NEUTRAL
from sizeguard.attribution.names import dtype_of
from sizeguard.attribution.result import Report
from sizeguard.errors import InconclusiveError

if TYPE_CHECKING:
    from sizeguard.linkgraph.graph import SectionGraph
    from sizeguard.linkgraph.retained import Retained


def with_shares(report: Report, path: Path, objects: Sequence[Path]) -> Report:
    """The report as it is if it has other levels or rows left out, or if the link is not known well enough for a graph."""
    if report.by not in (("operator",), ("operator", "dtype")) or report.left_out is not None:
        return report
    # Only here: 20 ms that other reports do not need.
    from sizeguard.linkgraph.sources import graph_of_path

    try:
        graph = graph_of_path(path, objects)
    except InconclusiveError:
        return report
    return _with_columns(report, graph)


def _with_columns(report: Report, graph: SectionGraph) -> Report:
    from sizeguard.linkgraph.retained import retained_by_dtype, retained_of
    from sizeguard.linkgraph.subjects import operators

    table = operators(graph)
    rows = [report.keys(i) for i in range(len(report))]
    # Operators that share a kernel share a row, and leave together.
    owners = {name: [node for part in name.split(", ") for node in table.get(part, [])] for name in {row[0] for row in rows}}
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
    """Of an operator its numbers; of one by dtypes each branch has its own, and what belongs to none has the rest."""
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
    others = [branches[row[0], other[1]] for other in rows if other[0] == row[0] and (row[0], other[1]) in branches]
    return max(cost.exclusive - sum(b.exclusive for b in others), 0), max(cost.shared - sum(b.shared for b in others), 0)
