"""Number names from several tables; they are read and merged once all are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.parallel import in_threads
from sizeguard.columns.ranks import rank_hashes
from sizeguard.columns.text_hash import Hash, hash_texts
from sizeguard.columns.texts import Int, Int32, Texts
from sizeguard.ledger.ledger import NONE

_PIECE = 1 << 16  # names that a thread hashes at a time


class NameRefs:
    """References to names, from tables or added one by one, in order.

    Two references may have equal names.
    """

    def __init__(self, *tables: Texts) -> None:
        """Store the tables; the references of a table follow those of the previous table."""
        self._tables: list[Texts | list[bytes]] = []
        self._count = 0
        self._known: dict[bytes, int] = {}
        self.first: list[int] = []
        for table in tables:
            self.first.append(self._count)
            self.extend(table)

    def extend(self, table: Texts) -> Int:
        """Add a table; return the references of its names."""
        self._tables.append(table)
        self._count += len(table)
        return np.arange(self._count - len(table), self._count)

    def add(self, name: bytes) -> int:
        """Return the reference to a name that is in no table."""
        if name not in self._known:
            if not self._tables or not isinstance(self._tables[-1], list):
                self._tables.append([])
            last = self._tables[-1]
            assert isinstance(last, list)
            last.append(name)
            self._known[name] = self._count
            self._count += 1
        return self._known[name]

    def texts(self) -> Texts:
        """Return all names, by reference."""
        return _joined([t if isinstance(t, Texts) else Texts.of(t) for t in self._tables])


@dataclass(frozen=True, slots=True)
class MergedNames:
    """Distinct names, in the order of their hashes; number: by reference, NONE if unused."""

    texts: Texts
    hashes: Hash
    number: Int32


def merged_names(refs: NameRefs, used: Iterable[Int | Int32]) -> MergedNames:
    """Merge the names of the used references. Names with equal hashes count as equal."""
    texts = refs.texts()
    is_used = np.zeros(len(texts), np.bool_)
    for some in used:
        is_used[some[some >= 0]] = True
    which = np.flatnonzero(is_used)
    wanted = texts.take(which)
    pieces = (
        Texts(texts.buffer, wanted.start[i : i + _PIECE], wanted.end[i : i + _PIECE])
        for i in range(0, len(wanted), _PIECE)
    )
    rank, hashes = rank_hashes(
        np.concatenate([np.zeros(0, np.uint64), *in_threads(hash_texts, pieces)])
    )
    first = np.zeros(len(hashes), np.int64)
    first[rank] = np.arange(len(rank))
    number = np.full(len(texts), NONE, np.int32)
    number[which] = rank
    return MergedNames(wanted.take(first), hashes, number)


def _joined(tables: Sequence[Texts]) -> Texts:
    """Concatenate tables: tables of one file share its bytes, otherwise used names are copied."""
    if not tables:
        return Texts.of(())
    if len(tables) == 1:
        return tables[0]
    if len({id(table.buffer) for table in tables}) == 1:
        return Texts(
            tables[0].buffer,
            np.concatenate([table.start for table in tables]),
            np.concatenate([table.end for table in tables]),
        )
    buffers, starts, ends = [], [], []
    at = 0
    for table in tables:
        low = int(table.start.min(initial=len(table.buffer)))
        high = max(low, int(table.end.max(initial=0)))
        buffers.append(table.buffer[low:high])
        starts.append(table.start + (at - low))
        ends.append(table.end + (at - low))
        at += high - low
    return Texts(np.concatenate(buffers), np.concatenate(starts), np.concatenate(ends))
