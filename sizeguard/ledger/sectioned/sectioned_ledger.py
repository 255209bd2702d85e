"""Make the ledger of a file whose reader returns parts and named ranges."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from sizeguard.columns.sums import ColumnSums, sum_by
from sizeguard.formats.sectioned import FilePart, NamedPart, SectionedImage
from sizeguard.ledger.claimed_ranges import ClaimList, OwnerTable
from sizeguard.ledger.kinds import CONTENT
from sizeguard.ledger.ledger import ImageInfo, Ledger, MemoryPartition
from sizeguard.ledger.partition import Partition, partition

_PART = 1
_MOST_FILL = 64  # bytes of padding between two functions
_FILLERS = frozenset(b"\x00\x90\xcc")


def sectioned_ledger(image: SectionedImage, title: str = "") -> Ledger:
    """Make the ledger: rows for named ranges, for the rest of each part, and for gaps."""
    return _SectionedBuilder(image).build(title)


class _SectionedBuilder:
    """Collect the owners of pieces, and their bytes in the file and in memory."""

    def __init__(self, image: SectionedImage) -> None:
        self.image = image
        self.table = OwnerTable()
        self.file = ClaimList()
        # Of each piece: owner, loaded bytes, writable bytes, address and bytes in memory, and
        # whether it is in the file.
        self.pieces: list[tuple[int, int, int, int, int, bool]] = []

    def build(self, title: str) -> Ledger:
        image = self.image
        of_part = {
            part: list(ranges) for part, ranges in groupby(image.ranges, lambda row: row.part)
        }
        for index, part in enumerate(image.parts):
            for start, end, owner in self.cut(part, of_part.get(index, [])):
                self.add(part, start, end, owner)
        for start, end in self.file.gaps(0, image.size):
            kind = "unattributed" if np.any(image.data[start:end]) else "section gap"
            self.file.add(start, end, self.table.row(f"({kind})", "", kind, kind), _PART)
        info = ImageInfo(
            str(image.path),
            title or image.path.name,
            image.format,
            image.arch,
            image.id,
            image.size,
            image.load,
            image.ram,
            image.needed,
            kind=image.kind,
        )
        return self.ledger(info)

    def cut(self, part: FilePart, ranges: list[NamedPart]) -> Iterator[tuple[int, int, int]]:
        """Yield the pieces of a part and their owners, in order."""
        at = 0
        for row in ranges:
            start, end = max(row.start, at), min(row.end, part.room)
            if start >= end:
                continue
            if at < start:
                yield at, start, self.rest(part, at, start)
            owner = self.table.row(
                part.name,
                part.segment,
                row.kind or part.kind,
                row.source,
                names=row.names,
                part=row.without,
            )
            yield start, end, owner
            at = end
        if at < part.room:
            yield at, part.room, self.rest(part, at, part.room)

    def rest(self, part: FilePart, start: int, end: int) -> int:
        """Return the owner of bytes without a name: padding of code, or the section."""
        if part.kind == "code" and end <= part.size and end - start < _MOST_FILL:
            content = self.image.data[part.offset + start : part.offset + end].tobytes()
            if _FILLERS.issuperset(content):
                return self.table.row(part.name, part.segment, "padding", "padding")
        is_content = part.kind in CONTENT
        analyzer = "unattributed" if is_content else "section"
        return self.table.row(part.name, part.segment, part.kind, analyzer)

    def add(self, part: FilePart, start: int, end: int, owner: int) -> None:
        """Count a piece of a part; bytes of the file beyond those in memory are page slack."""
        in_file = min(end, part.size)
        if start < in_file:
            self.file.add(part.offset + start, part.offset + in_file, owner, _PART)
        load = max(min(end, part.load) - start, 0)
        memory = max(min(end, part.memory) - start, 0)
        if memory or load:
            writable = memory if part.is_writable else 0
            self.pieces.append(
                (owner, load, writable, part.address + start, memory, start < in_file)
            )

    def memory(self) -> MemoryPartition:
        """Return the pieces in memory in order of address."""
        rows = sorted(
            (address, size, owner) for owner, _, _, address, size, _ in self.pieces if size
        )
        table = np.array(rows, np.int64).reshape(-1, 3)
        return MemoryPartition(table[:, 0], table[:, 1], table[:, 2])

    def ledger(self, info: ImageInfo) -> Ledger:
        """Build the ledger from the rows that own bytes."""
        table = self.table
        file = partition(self.file.claims(), info.file)
        columns = np.array(self.pieces, np.int64).reshape(-1, 6)
        load, ram = (sum_by(columns[:, i], columns[:, 0], len(table)) for i in (1, 2))
        apart = sum_by((columns[:, 4] > 0) & (columns[:, 5] == 0), columns[:, 0], len(table))
        count = np.bincount(file.owner, minlength=len(table)).astype(np.int64) + apart
        used = (count > 0) | (load > 0) | (ram > 0)
        new = np.cumsum(used) - 1
        memory = self.memory()
        in_file = Partition(file.start, new[file.owner], file.size)
        in_memory = MemoryPartition(memory.address, memory.size, new[memory.owner])
        sizes = file.bytes_by_owner(len(table))[:-1]
        sums = {"file": sizes, "load": load, "ram": ram, "count": count}
        kept = ColumnSums({name: column[used] for name, column in sums.items()})
        return table.ledger(info, used, in_file, in_memory, kept)
