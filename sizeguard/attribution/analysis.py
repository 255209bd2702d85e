"""What is known of an image: a row for each owner of bytes, and for each level a label on each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sizeguard.formats.texts import Int, Texts
from sizeguard.ledger.ledger import ImageInfo

LEVELS = ("operator", "kernel", "dtype", "component", "kind", "section", "segment", "object", "symbol", "analyzer")


@dataclass(frozen=True, slots=True)
class Label:
    """The values of one level: row i has texts[ids[i]]. Symbols are as in the symbol table, mangled."""

    ids: npt.NDArray[np.int32]
    texts: Texts


class Analysis(Protocol):
    """Rows as parallel int64 columns of bytes; their sums are those of `image`. A binary's and a snapshot's look the same.

    count: how many spans a row stands for.
    """

    image: ImageInfo
    file: Int
    load: Int
    ram: Int
    count: Int

    def label(self, level: str) -> Label:
        """The labels of a level of LEVELS; worked out when asked for, and kept."""
        ...
