"""What a report is: rows that sum to the image, as columns. How it is made and how it is shown is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sizeguard.attribution.analysis import LEVELS, Label
from sizeguard.formats.texts import Int
from sizeguard.ledger.ledger import ImageInfo

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

OUTSIDE = "(headers, tables, padding)"

# Rows of the level operator that are none.
CORE = "(core)"
SHARED = "(shared by operators)"

UNATTRIBUTED = "unattributed"

__all__ = ["CORE", "LEVELS", "OUTSIDE", "SHARED", "UNATTRIBUTED", "Report", "Row", "Sums"]


@dataclass(frozen=True, slots=True)
class Sums:
    """Bytes, and count: spans. exclusive and shared: bytes of the load that leave with the row, and that others use, too."""

    file: int
    load: int
    ram: int
    count: int
    exclusive: int | None = None
    shared: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """keys: a value for each level asked for. count: spans. Bytes."""

    keys: tuple[str, ...]
    file: int
    load: int
    count: int
    ram: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """Where the bytes of one image went, as parallel columns, in the order they are to be shown.

    labels:    for each level of `by` the rows' values; equal texts have equal ids
    exclusive, shared: of the load, if a section graph said so
    filters:   what rows had to meet; left_out: the sums of those that did not. With them the rows' bytes sum to those of image
    """

    image: ImageInfo
    by: tuple[str, ...]
    labels: tuple[Label, ...]
    file: Int
    load: Int
    ram: Int
    count: Int
    exclusive: Int | None = None
    shared: Int | None = None
    sort: str = "load"
    filters: tuple[str, ...] = ()
    left_out: Sums | None = None

    def __len__(self) -> int:
        return len(self.load)

    def keys(self, index: int) -> tuple[str, ...]:
        return tuple(label.texts[int(label.ids[index])] for label in self.labels)

    @property
    def rows(self) -> tuple[Row, ...]:
        """All of them as objects: for hundreds of rows, not for half a million."""
        columns = zip(self.file.tolist(), self.load.tolist(), self.count.tolist(), self.ram.tolist(), strict=True)
        return tuple(Row(self.keys(i), *values) for i, values in enumerate(columns))

    def sums(self, where: npt.NDArray[np.bool_] | npt.NDArray[np.int64] | slice = slice(None)) -> Sums:
        """Of some rows, by mask, by indices or as a slice."""
        return Sums(
            int(self.file[where].sum()),
            int(self.load[where].sum()),
            int(self.ram[where].sum()),
            int(self.count[where].sum()),
            None if self.exclusive is None else int(self.exclusive[where].sum()),
            None if self.shared is None else int(self.shared[where].sum()),
        )
