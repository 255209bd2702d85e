"""What a diff is: rows that changed, each with its cause; they sum to the difference of the images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.analysis import TextList
from sizeguard.attribution.result import Sums
from sizeguard.formats.texts import Int
from sizeguard.ledger.ledger import ImageInfo

# A row's cause is an index. Each has its mirror image: what a diff the other way round says.
CAUSES = ("grew", "shrank", "added", "removed", "more_instances", "fewer_instances", "moved", "padding")
MIRRORED = (1, 0, 3, 2, 5, 4, 6, 7)
METRICS = ("load", "file", "ram")


@dataclass(frozen=True, slots=True)
class DiffLabel:
    """The values of a level: row i has texts[ids[i]]."""

    ids: npt.NDArray[np.int32]
    texts: TextList


@dataclass(frozen=True, slots=True)
class Diff:
    """The rows that differ, as parallel columns, the largest difference first.

    labels:               for each level of `by` the rows' values; of symbols what stays of a name from build to build
    old, new:             bytes of the metric; they differ in each row
    old_count, new_count: instances: how many pieces of code and data a row stands for, tables about them not counted
    cause:                index into CAUSES
    left_out:             new minus old of what a filter left out. With it the rows sum to the difference of the images
    """

    old_image: ImageInfo
    new_image: ImageInfo
    by: tuple[str, ...]
    metric: str
    labels: tuple[DiffLabel, ...]
    old: Int
    new: Int
    old_count: Int
    new_count: Int
    cause: npt.NDArray[np.int8]
    filters: tuple[str, ...] = ()
    left_out: Sums | None = None

    def __len__(self) -> int:
        return len(self.old)

    @property
    def delta(self) -> Int:
        return self.new - self.old

    def keys(self, index: int) -> tuple[str, ...]:
        return tuple(label.texts[int(label.ids[index])] for label in self.labels)

    def total(self, metric: str) -> int:
        """New minus old of the images, in bytes."""
        return int(getattr(self.new_image, metric)) - int(getattr(self.old_image, metric))
