"""Report of an image's sizes as data; its rows sum to the image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sizeguard.attribution.levels import LEVELS
from sizeguard.base.dataclass import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sizeguard.attribution.alias_rows import SymbolAliases
    from sizeguard.columns.label import Label
    from sizeguard.columns.texts import Int
    from sizeguard.ledger.ledger import ImageInfo

OUTSIDE = "(headers, tables, padding)"

# Labels of the level `operator` that are not operators.
CORE = "(core)"
SHARED = "(shared by operators)"

UNATTRIBUTED = "unattributed"

__all__ = ["CORE", "LEVELS", "OUTSIDE", "SHARED", "UNATTRIBUTED", "ByteSums", "Report", "SizeRow"]


@dataclass(frozen=True, slots=True)
class ByteSums:
    """Sums of rows: bytes, and the number of spans (count).

    exclusive, shared: loaded bytes that removing the operator frees, and bytes that others also use
    """

    file: int
    load: int
    ram: int
    count: int
    exclusive: int | None = None
    shared: int | None = None


@dataclass(frozen=True, slots=True)
class SizeRow:
    """Row of a report: a value for each level, bytes, and the number of spans (count)."""

    keys: tuple[str, ...]
    file: int
    load: int
    count: int
    ram: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """Sizes of one image as parallel columns, in display order.

    labels:            the rows' values for each level of `by`; equal texts have equal ids
    exclusive, shared: of loaded bytes; None without a section graph
    filters:           the conditions that the rows meet
    left_out:          sums of the filtered rows; with them the rows sum to `image`
    aliases:           the other names of symbols' bytes; None if there are none
    rules:             the rules that names were read with; empty without rules, None if not known
    unknown:           levels without any name, and what would bring names
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
    left_out: ByteSums | None = None
    aliases: SymbolAliases | None = None
    rules: str | None = None
    unknown: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.load)

    def keys(self, index: int) -> tuple[str, ...]:
        """Return the values of a row, one for each level."""
        return tuple(label.texts[int(label.ids[index])] for label in self.labels)

    @property
    def rows(self) -> tuple[SizeRow, ...]:
        """All rows as objects; meant for hundreds of rows, not for half a million."""
        columns = zip(
            self.file.tolist(),
            self.load.tolist(),
            self.count.tolist(),
            self.ram.tolist(),
            strict=True,
        )
        return tuple(SizeRow(self.keys(i), *values) for i, values in enumerate(columns))

    def sums(
        self, where: npt.NDArray[np.bool_] | npt.NDArray[np.int64] | slice = slice(None)
    ) -> ByteSums:
        """Sum some rows, given as a mask, indices or a slice."""
        row: int | None = None
        if not isinstance(where, slice) and where.dtype.kind != "b" and len(where) == 1:
            row = int(where[0])  # numpy needs 10 µs to sum four single numbers

        def total(column: npt.NDArray[np.int64]) -> int:
            return int(column[where].sum() if row is None else column[row])

        return ByteSums(
            total(self.file),
            total(self.load),
            total(self.ram),
            total(self.count),
            None if self.exclusive is None else total(self.exclusive),
            None if self.shared is None else total(self.shared),
        )
