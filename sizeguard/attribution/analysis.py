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
    """The values of one level: row i has texts[ids[i]]. Symbols are as in the symbol table, mangled.

    hashes: text_hash.hash_texts of the texts, given only if no two that rows have are equal; order: in which those ascend.
    """

    ids: npt.NDArray[np.int32]
    texts: Texts
    hashes: npt.NDArray[np.uint64] | None = None
    order: Int | None = None


class TextList(Protocol):
    """Texts, or what makes one when it is asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> str: ...

    def raw(self, index: int) -> bytes: ...


class RowTexts(Protocol):
    """What a report or a diff says of a level: row i has texts[ids[i]]."""

    @property
    def ids(self) -> npt.NDArray[np.int32]: ...

    @property
    def texts(self) -> TextList: ...


@dataclass(frozen=True, slots=True)
class Aliases:
    """Names of the same bytes: aliases, and functions that the linker folded. A diff matches them before names.

    group: of each row, -1 for rows whose bytes have one name; group g has the names names[first[g]:first[g + 1]], as in the symbol table.
    hashes: text_hash.hash_texts of the names, if they are known.
    """

    group: npt.NDArray[np.int32]
    first: Int
    names: Texts
    hashes: npt.NDArray[np.uint64] | None = None


class Analysis(Protocol):
    """Rows as parallel int64 columns of bytes; their sums are those of `image`. A binary's and a snapshot's look the same.

    count: how many spans a row stands for.
    """

    image: ImageInfo

    @property
    def file(self) -> Int: ...

    @property
    def load(self) -> Int: ...

    @property
    def ram(self) -> Int: ...

    @property
    def count(self) -> Int: ...

    def sums_by(self, ids: Int | npt.NDArray[np.int32], count: int) -> tuple[Int, Int, Int, Int]:
        """File, load, ram and count of all rows with the same id; 0 <= ids < count. In a third of the time that the columns take."""
        ...

    def label(self, level: str) -> Label:
        """The labels of a level of LEVELS; worked out when asked for, and kept."""
        ...

    def aliases(self) -> Aliases | None:
        """Who else has the bytes of a row; None if nobody has."""
        ...
