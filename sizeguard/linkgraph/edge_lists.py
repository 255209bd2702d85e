"""Collect edges in any order, and sort them by source."""

from __future__ import annotations

from dataclasses import field

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.linkgraph.graph import Edges


@dataclass(slots=True, eq=False)
class EdgeLists:
    """Edges as pieces of columns: source, target, reason, offset, symbol, type, place."""

    parts: list[tuple[npt.NDArray[np.int64], ...]] = field(default_factory=list)

    # More than 6 parameters: the columns of an edge.
    def add(
        self,
        source: npt.ArrayLike,
        target: npt.ArrayLike,
        reason: int,
        offset: npt.ArrayLike = 0,
        symbol: npt.ArrayLike = -1,
        type_: npt.ArrayLike = 0,
        place: npt.ArrayLike = 0,
    ) -> None:
        """Add edges, given as columns or single values that are broadcast; see graph.Edges."""
        columns = (
            np.atleast_1d(np.asarray(c, np.int64))
            for c in (source, target, reason, offset, symbol, type_, place)
        )
        self.parts.append(tuple(np.broadcast_arrays(*columns)))

    def edges(self, nodes: int) -> Edges:
        """Join the pieces, sorted by source and offset. Edges with a node of -1 are dropped."""
        columns = [
            np.concatenate([np.zeros(0, np.int64), *(part[i] for part in self.parts)])
            for i in range(7)
        ]
        valid = (columns[0] >= 0) & (columns[1] >= 0)
        columns = [column[valid] for column in columns]
        order = np.lexsort((columns[3], columns[0]))
        source, target, reason, offset, symbol, type_, place = (column[order] for column in columns)
        start = np.searchsorted(source, np.arange(nodes + 1))
        return Edges(
            start.astype(np.int64),
            target.astype(np.int32),
            reason.astype(np.int8),
            offset,
            symbol.astype(np.int32),
            type_.astype(np.int32),
            place,
        )
