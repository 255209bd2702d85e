"""Partition an image exactly: every byte gets one owner from overlapping claims.

Claims come from precise analyzers (a symbol) and coarse ones (its section). The strongest claim on
a byte wins; among equal claims, the first one. Bytes without a claim are UNATTRIBUTED, never
dropped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.distinct import distinct
from sizeguard.columns.sort import packed_order

UNATTRIBUTED = -1
NOBODY = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Claims:
    """Byte ranges that analyzers attribute to owners, as parallel columns, in order of creation.

    start, end: int64, file offsets in bytes, half open, start <= end <= size of the image.
    owner:      int64, index into the ledger's owner table.
    rank:       int8, strength of the evidence; higher wins.
    """

    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    rank: npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Partition:
    """Spans that cover [0, size) once, in order.

    Span i is [start[i], start[i + 1]); the last one ends at size.
    """

    start: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    size: int

    def bytes_by_owner(self, owners: int) -> npt.NDArray[np.int64]:
        """Sum the bytes of each owner: int64[owners + 1]; the last entry is UNATTRIBUTED.

        All entries sum to size.
        """
        length = np.diff(self.start, append=self.size)
        totals = np.zeros(owners + 1, np.int64)
        np.add.at(totals, self.owner, length)
        return totals


def partition(claims: Claims, size: int) -> Partition:
    """Cut [0, size) where the winning claim changes.

    Nearly all claims overlap only a weakest claim, such as a section. These are laid over the
    weakest ones directly, and only the others are compared with each other.

    Raises ValueError for a claim outside the image: such a claim would make the sums wrong.
    """
    outside = (claims.start < 0) | (claims.end > size) | (claims.start > claims.end)
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"claim {first} covers [{claims.start[first]}, {claims.end[first]}) of an image of"
            f" {size} bytes"
        )
    if not len(claims.start):
        return _painted(claims, size)
    is_weakest = claims.rank == claims.rank.min()
    layer = _layer(claims, np.flatnonzero(~is_weakest & (claims.end > claims.start)), size)
    lower = _painted(_taken(claims, np.flatnonzero(is_weakest)), size)
    del claims, is_weakest  # columns of millions of entries
    return _laid_over(layer, lower)


@dataclass(frozen=True, slots=True)
class _Spans:
    """Disjoint ranges [start, end), in order, and their owners."""

    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]


def _layer(claims: Claims, rows: npt.NDArray[np.int64], size: int) -> _Spans:
    """Return the spans of some claims; those that overlap others are compared with each other."""
    rows = rows[packed_order(claims.start[rows])]
    end = claims.end[rows]
    overlaps = np.flatnonzero(np.maximum.accumulate(end)[:-1] > claims.start[rows[1:]])
    is_apart = np.ones(len(rows), np.bool_)
    is_apart[overlaps] = is_apart[overlaps + 1] = False
    others = np.sort(rows[~is_apart])
    if len(others):
        rows, end = rows[is_apart], end[is_apart]
    layer = _Spans(claims.start[rows], end, claims.owner[rows])
    if not len(others):
        return layer
    del rows, end
    return _merged(layer, _spans_of(_painted(_taken(claims, others), size)))


def _taken(claims: Claims, where: npt.NDArray[np.int64]) -> Claims:
    """Select claims."""
    return Claims(claims.start[where], claims.end[where], claims.owner[where], claims.rank[where])


def _spans_of(painted: Partition) -> _Spans:
    """Return the spans that have an owner."""
    owned = np.flatnonzero(painted.owner != UNATTRIBUTED)
    end = np.append(painted.start[1:], painted.size)
    return _Spans(painted.start[owned], end[owned], painted.owner[owned])


def _merged(one: _Spans, other: _Spans) -> _Spans:
    """Merge two sets of spans in order; spans of one set must not overlap the other."""
    order = packed_order(np.concatenate([one.start, other.start]))
    return _Spans(
        *(
            np.concatenate([getattr(one, name), getattr(other, name)])[order]
            for name in ("start", "end", "owner")
        )
    )


def _laid_over(upper: _Spans, lower: Partition) -> Partition:
    """Lay spans over a partition, which stays visible in the gaps."""
    # The gap before a span begins where the previous span ends. Most gaps are empty.
    begin = np.concatenate([[0], upper.end])
    gaps = begin[np.append(upper.start, lower.size) > begin]
    # Edges of the lower partition inside a gap.
    place = np.searchsorted(upper.start, lower.start, side="right")
    shown = np.sort(np.concatenate([gaps, lower.start[begin[place] < lower.start]]))
    at = np.searchsorted(upper.start, shown)
    start = np.insert(upper.start, at, shown)
    below = lower.owner[np.searchsorted(lower.start, shown, side="right") - 1]
    owner = np.insert(upper.owner, at, below)
    keep = np.ones(len(owner), bool)
    keep[1:] = owner[1:] != owner[:-1]
    return Partition(start[keep], owner[keep], lower.size)


def _painted(claims: Claims, size: int) -> Partition:
    """Cut [0, size) as partition does, without its fast path."""
    edges = distinct(np.concatenate([claims.start, claims.end, [0, size]]))
    order = np.argsort(-claims.rank.astype(np.int64), kind="stable")
    low, high = (
        np.searchsorted(edges, claims.start[order]),
        np.searchsorted(edges, claims.end[order]),
    )
    best = strongest(low, high, len(edges) - 1)
    painted = np.where(
        best == NOBODY,
        UNATTRIBUTED,
        claims.owner[order[np.minimum(best, len(order) - 1)]] if len(order) else UNATTRIBUTED,
    )

    keep = np.ones(len(painted), bool)
    keep[1:] = painted[1:] != painted[:-1]
    return Partition(start=edges[:-1][keep], owner=painted[keep], size=size)


def strongest(
    low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], count: int
) -> npt.NDArray[np.int64]:
    """Find the first claim i with low[i] <= place < high[i] for each place, else NOBODY.

    Places are 0 to count - 1. Any interval is the union of two overlapping intervals whose length
    is a power of two. So each claim is entered twice at the level of its length, and each level
    passes its entries down to the next. 512,542 claims take 0.05 s, a loop over them 1.0 s.
    """
    place = np.flatnonzero(high > low)
    low, high = low[place], high[place]
    level = np.frexp((high - low).astype(np.float64))[1] - 1
    best = np.full(count, NOBODY, np.int64)
    for at in range(int(level.max(initial=-1)), -1, -1):
        here = level == at
        if here.any():
            np.minimum.at(best, low[here], place[here])
            np.minimum.at(best, high[here] - (1 << at), place[here])
        if at:
            half = 1 << (at - 1)
            handed = best.copy()
            np.minimum(handed[half:], best[:-half], out=handed[half:])
            best = handed
    return best
