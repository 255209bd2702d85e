"""Tables of owners and lists of claims that are filled one by one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from sizeguard.columns.sort import hash_order
from sizeguard.columns.sums import ColumnSums
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Texts
from sizeguard.ledger.kinds import ANALYZER, KIND
from sizeguard.ledger.ledger import NONE, AliasGroups, ImageInfo, Ledger, MemoryPartition, Owners
from sizeguard.ledger.partition import Claims, Partition


class OwnerTable:
    """Distinct rows of ledger.Owners, and the tables that they refer to."""

    def __init__(self) -> None:
        """Start with empty tables."""
        self.sections: dict[str, int] = {}
        self.segments: dict[str, int] = {}
        self.symbols: dict[bytes, int] = {}
        self.parts: dict[bytes, int] = {}
        self._groups: dict[tuple[int, ...], int] = {}
        self._rows: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    # More than 6 parameters: the fields of a row of ledger.Owners.
    def row(
        self,
        section: str,
        segment: str,
        kind: str,
        analyzer: str,
        *,
        names: Sequence[bytes] = (),
        part: bytes = b"",
        input_: int = NONE,
    ) -> int:
        """Return the index of a row, new or existing; several names make an alias group."""
        members = tuple(self.symbols.setdefault(name, len(self.symbols)) for name in names)
        group = self._groups.setdefault(members, len(self._groups)) if len(members) > 1 else NONE
        fields = (
            self.sections.setdefault(section, len(self.sections)),
            self.segments.setdefault(segment, len(self.segments)),
            KIND[kind],
            ANALYZER[analyzer],
            members[0] if members else NONE,
            group,
            input_,
            self.parts.setdefault(part, len(self.parts)) if part else NONE,
        )
        return self._rows.setdefault(fields, len(self._rows))

    def owners(self, used: npt.NDArray[np.bool_]) -> Owners:
        """Return the used rows; rows whose bytes are covered by stronger claims are not used."""
        table = np.array(list(self._rows), np.int32).reshape(-1, len(Owners.COLUMNS))[used]
        small = ("kind", "analyzer")
        kinds = (np.int8 if name in small else np.int32 for name in Owners.COLUMNS)
        return Owners.of(
            {
                name: column.astype(kind)
                for name, column, kind in zip(Owners.COLUMNS, table.T, kinds, strict=True)
            }
        )

    def groups(self) -> AliasGroups:
        """Return the alias groups."""
        lengths = [len(members) for members in self._groups]
        first = np.concatenate([[0], np.cumsum(lengths, dtype=np.int32)]).astype(np.int32)
        return AliasGroups(
            first, np.array([member for members in self._groups for member in members], np.int32)
        )

    def ledger(
        self,
        info: ImageInfo,
        used: npt.NDArray[np.bool_],
        file: Partition,
        memory: MemoryPartition,
        sums: ColumnSums,
    ) -> Ledger:
        """Make the ledger of the used rows, by whose order the owners in the partitions count."""
        symbols = Texts.of(self.symbols)
        hashes = hash_texts(symbols)
        return Ledger(
            image=info,
            sections=tuple(self.sections),
            segments=tuple(self.segments),
            symbols=symbols,
            inputs=(),
            parts=Texts.of(self.parts),
            owners=self.owners(used),
            groups=self.groups(),
            make_file=lambda: file,
            make_memory=lambda: memory,
            sums=sums,
            hashes=hashes,
            make_hash_order=cache(lambda: hash_order(hashes)),
        )


class ClaimList:
    """Claims on ranges [start, end) of a space, in the order in which they are made."""

    def __init__(self) -> None:
        """Start without claims."""
        self.start: list[int] = []
        self.end: list[int] = []
        self.owner: list[int] = []
        self.rank: list[int] = []

    def add(self, start: int, end: int, owner: int, rank: int) -> None:
        """Add a claim, unless it is empty."""
        if start < end:
            self.start.append(start)
            self.end.append(end)
            self.owner.append(owner)
            self.rank.append(rank)

    def gaps(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return the ranges of [low, high) that no claim covers so far."""
        gaps = []
        reached = low
        for i in np.argsort(np.array(self.start, np.int64), kind="stable").tolist():
            start, end = min(max(self.start[i], low), high), min(self.end[i], high)
            if start > reached:
                gaps.append((reached, start))
            reached = max(reached, end)
        return [*gaps, (reached, high)] if reached < high else gaps

    def claims(self) -> Claims:
        """Return the claims as columns."""
        start, end, owner = (
            np.array(column, np.int64) for column in (self.start, self.end, self.owner)
        )
        return Claims(start, end, owner, np.array(self.rank, np.int8))
