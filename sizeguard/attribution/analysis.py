"""Protocol of an analysis: a row for each owner of bytes, with a label at each level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.label import Label
from sizeguard.columns.sums import Counts, SumsById
from sizeguard.columns.texts import Int, Texts
from sizeguard.ledger.ledger import ImageInfo

if TYPE_CHECKING:
    from sizeguard.linkgraph.retained import NodeUsers


@dataclass(frozen=True, slots=True)
class Aliases:
    """Bytes with several names: aliases, and functions that the linker folded.

    A diff compares them before names.

    group:  by row; -1 for rows whose bytes have one name; group g has the names
            names[first[g]:first[g + 1]], as in the symbol table
    hashes: text_hash.hash_texts of the names, if known
    """

    group: npt.NDArray[np.int32]
    first: Int
    names: Texts
    hashes: npt.NDArray[np.uint64] | None = None


class Analysis(Protocol):
    """Rows as parallel int64 columns of bytes, which sum to the sizes in `image`.

    Analyses of binaries and of snapshots both have this interface.
    """

    image: ImageInfo

    @property
    def file(self) -> Int:
        """Bytes of the file, by row."""
        ...

    @property
    def load(self) -> Int:
        """Loaded bytes, by row."""
        ...

    @property
    def ram(self) -> Int:
        """Bytes of writable memory, by row."""
        ...

    @property
    def count(self) -> Counts:
        """Number of spans, by row."""
        ...

    @property
    def users(self) -> NodeUsers | None:
        """Operators that reach each node of the section graph; None if taken from names."""
        ...

    @property
    def rules(self) -> str | None:
        """The rules that names were read with; empty if no rules fit, None if that is not known."""
        ...

    @property
    def has_pieces(self) -> bool:
        """Return whether some rows are pieces that debug information cuts out of functions."""
        ...

    def inlined(self) -> dict[tuple[str, str], int]:
        """Return the loaded bytes of inlined dtype branches, by (operator, dtype)."""
        ...

    def sums_by(self, ids: Int | npt.NDArray[np.int32], count: int) -> SumsById:
        """Sum all rows with equal id; 0 <= ids < count.

        It takes a third of the time of computing the columns.
        """
        ...

    def label(self, level: str) -> Label:
        """Return the labels of a level of LEVELS; they are computed on first use."""
        ...

    def aliases(self) -> Aliases | None:
        """Return the groups of names that share bytes; None if no bytes have several names."""
        ...
