"""The result of a diff: changed rows with causes, which sum to the difference of the images."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.attribution.size_report import ByteSums
from sizeguard.base.dataclass import dataclass
from sizeguard.columns.label import TextList
from sizeguard.columns.texts import Int
from sizeguard.ledger.ledger import ImageInfo

# A row's cause is an index into CAUSES.
CAUSES = (
    "grew",
    "shrank",
    "added",
    "removed",
    "more_instances",
    "fewer_instances",
    "moved",
    "padding",
)


@dataclass(frozen=True, slots=True)
class DiffLabel:
    """The values of a level: row i has texts[ids[i]]."""

    ids: npt.NDArray[np.int32]
    texts: TextList


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A row that differs, in bytes of the metric.

    keys:  a value for each level
    cause: one of CAUSES; empty if only sizes are known
    """

    keys: tuple[str, ...]
    old: int
    new: int
    cause: str = ""

    @property
    def delta(self) -> int:
        """Bytes by which the row grew."""
        return self.new - self.old


@dataclass(frozen=True, slots=True)
class Diff:
    """The rows that differ, as parallel columns, the largest difference first.

    labels:   the rows' values for each level of `by`; for symbols, the part of the name that stays
              the same between builds
    old, new: bytes of the metric, which differ in each row
    old_count, new_count: instances, that is pieces of code and data in a row, without the tables
        about them
    cause:    index into CAUSES
    left_out: new minus old of the rows that a filter left out. With it the rows sum to the
              difference of the images
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
    left_out: ByteSums | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.old)

    @property
    def delta(self) -> Int:
        """New minus old of each row, in bytes."""
        return self.new - self.old

    @property
    def titles(self) -> tuple[str, str]:
        """The images' titles, old and new; with their machines if these differ."""
        old, new = self.old_image, self.new_image
        if old.arch == new.arch:
            return old.title, new.title
        return _with_machine(old), _with_machine(new)

    def keys(self, index: int) -> tuple[str, ...]:
        """Return a row's values, one for each level."""
        return tuple(label.texts[int(label.ids[index])] for label in self.labels)

    def rows(self) -> tuple[DiffRow, ...]:
        """Return the rows as objects; meant for hundreds of rows, not for half a million."""
        columns = zip(self.old.tolist(), self.new.tolist(), self.cause.tolist(), strict=True)
        return tuple(
            DiffRow(self.keys(i), old, new, CAUSES[cause])
            for i, (old, new, cause) in enumerate(columns)
        )

    def total(self, metric: str) -> int:
        """Return new minus old of the images, in bytes."""
        return int(getattr(self.new_image, metric)) - int(getattr(self.old_image, metric))


def _with_machine(image: ImageInfo) -> str:
    """Return the title, which has the machine if it is that of a build or a universal file."""
    return image.title if image.arch in image.title else f"{image.title}  {image.arch}"
