"""Cut bytes out of a ledger's owners and give them new owners."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sizeguard.columns.sums import ColumnSums
from sizeguard.columns.texts import Int
from sizeguard.ledger.kinds import KIND
from sizeguard.ledger.ledger import Ledger, Owners
from sizeguard.ledger.partition import Partition


class Cut(NamedTuple):
    """Bytes [start, end) of the file with a single owner, and the label of their new owner."""

    start: int
    end: int
    owner: int
    label: str


def apart(cuts: Iterable[Cut]) -> list[Cut]:
    """Sort cuts and drop those that overlap an earlier one."""
    kept: list[Cut] = []
    for cut in sorted(set(cuts)):
        if not kept or cut.start >= kept[-1].end:
            kept.append(cut)
    return kept


def with_cuts(ledger: Ledger, cuts: Sequence[Cut], analyzer: int | None = None) -> Ledger:
    """Return the ledger with one more owner for each cut, after the existing owners.

    cuts:     sorted, without overlaps
    analyzer: the one that found the cuts; None keeps the analyzer of the bytes' owner
    """
    if not cuts:
        return ledger
    start, end, owner = (np.array([cut[k] for cut in cuts], np.int64) for k in range(3))
    file = _partition(ledger.file, start, end, owner, len(ledger.owners))
    return replace(
        ledger,
        owners=_owners(ledger, owner, analyzer),
        make_file=lambda: file,
        sums=ColumnSums(_sums(ledger, owner, end - start)),
    )


def _owners(ledger: Ledger, owner: Int, analyzer: int | None) -> Owners:
    """Append a copy of each cut's owner; bytes without a kind become code."""
    count = len(ledger.owners)
    columns: dict[str, npt.NDArray[Any]] = {}
    for name in Owners.COLUMNS:
        column = getattr(ledger.owners, name)
        columns[name] = np.concatenate([column, column[owner]])
    if analyzer is not None:
        columns["analyzer"][count:] = analyzer
    kind = columns["kind"][count:]
    kind[kind == KIND["unattributed"]] = KIND["code"]
    return Owners.of(columns)


def _sums(ledger: Ledger, owner: Int, size: Int) -> dict[str, Int]:
    """Move each cut's bytes from its owner to the new one; memory only if the owner has any."""
    sums = {"count": np.concatenate([ledger.count, np.ones(len(owner), np.int64)])}
    for what, column in (("file", ledger.file_bytes), ("load", ledger.load), ("ram", ledger.ram)):
        moved = size if what == "file" else np.where(column[owner] > 0, size, 0)
        sums[what] = np.concatenate([column, moved])
        np.subtract.at(sums[what], owner, moved)
    return sums


def _partition(file: Partition, start: Int, end: Int, owner: Int, first: int) -> Partition:
    """Insert the cuts into the partition of the file. The new owners are numbered from `first`.

    Spans begin where they began before, where cuts begin, and where cuts end; the cut's previous
    owner continues after it.
    """
    edges = np.concatenate([file.start, start, end])
    owners = np.concatenate([file.owner, np.arange(first, first + len(start)), owner])
    # At the same place, the start of a cut counts most, then the start of a span.
    is_end = np.repeat([0, 1], [len(file.start) + len(start), len(end)])
    is_begin = np.repeat([0, 1, 0], [len(file.start), len(start), len(end)])
    order = np.lexsort((is_begin, 1 - is_end, edges))
    edges, owners = edges[order], owners[order]
    is_last = np.append(edges[1:] != edges[:-1], True)
    return Partition(edges[is_last], owners[is_last], file.size)


def span_end(file: Partition, span: int) -> int:
    """Return the end of a span of the file."""
    return int(file.start[span + 1]) if span + 1 < len(file.start) else file.size
