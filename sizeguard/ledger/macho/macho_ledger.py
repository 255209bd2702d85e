"""Make the ledger of a Mach-O image or universal binary."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from operator import attrgetter

import numpy as np

from sizeguard.columns.distinct import distinct
from sizeguard.columns.sort import hash_order
from sizeguard.columns.sums import ColumnSums
from sizeguard.columns.text_hash import hash_texts
from sizeguard.columns.texts import Int
from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.formats.macho.fixups import fixups
from sizeguard.formats.macho.image import MachO, Section, Segment
from sizeguard.formats.macho.needed import needed_dylibs
from sizeguard.formats.macho.reader import FatFile
from sizeguard.ledger.ledger import ImageInfo, Ledger, MemoryPartition
from sizeguard.ledger.macho.claimed_ranges import ClaimList, OwnerTable
from sizeguard.ledger.macho.contents import SECTION, contents
from sizeguard.ledger.macho.linkedit_ranges import pieces
from sizeguard.ledger.macho.named_ranges import MAP, STAB, NamedRanges, named_ranges, stabs
from sizeguard.ledger.partition import Partition, partition


def macho_ledger(
    image: MachO, names: MachO | None = None, inputs: Sequence[InputSection] = (), title: str = ""
) -> Ledger:
    """Make the ledger of one image.

    names: the same build with symbols, or its dSYM; inputs: the rows of its linker map.

    Without a map, STABs say which object a function comes from. For a slice of a universal binary,
    the ledger covers the slice alone.
    """
    names = names if names is not None else image
    ranges = named_ranges(image, names, inputs)
    inputs = tuple(inputs) or _inputs_of_stabs(image, names, ranges)
    return _LedgerBuilder(image, ranges, inputs).build(title)


def fat_ledger(fat: FatFile, title: str = "") -> Ledger:
    """Make the ledger of a universal binary: rows for its header, each image and what is between.

    Only one image is ever loaded, so the file has no memory of its own. load and ram of each image
    are in its row, and their sums in `image`.
    """
    table = OwnerTable()
    file, loads, rams = _fat_claims(fat, table)
    blank = np.zeros(len(table) - len(loads), np.int64)
    load, ram = (np.concatenate([np.array(column, np.int64), blank]) for column in (loads, rams))
    arch = "+".join(image.arch for image in fat.images)
    ids = ",".join(image.uuid for image in fat.images)
    info = ImageInfo(
        str(fat.path), title, "macho", arch, ids, fat.size, int(load.sum()), int(ram.sum())
    )
    nothing = np.zeros(0, np.int64)
    no_memory = MemoryPartition(nothing, nothing, nothing)
    uncounted = np.zeros(len(table), np.int64)
    return _ledger(info, table, (), _Owned(file, no_memory, load, ram, uncounted))


def _fat_claims(fat: FatFile, table: OwnerTable) -> tuple[Partition, list[int], list[int]]:
    """Partition the file; return also load and ram of the header's row and each image's."""
    claims = ClaimList()
    header = table.row("(fat header)", "", "header", "header")
    claims.add(0, fat.header_size, header, SECTION)
    loads, rams = [0], [0]
    for image in fat.images:
        owner = table.row(f"({image.arch})", "", "other", "header", part=image.arch.encode())
        if owner == len(loads):
            loads.append(0)
            rams.append(0)
        loads[owner] += image.load
        rams[owner] += image.ram
        claims.add(image.offset, image.offset + image.size, owner, SECTION)
    for start, end in claims.gaps(0, fat.size):
        gap = table.row("(section gap)", "", "section gap", "section gap")
        claims.add(start, end, gap, SECTION)
    return partition(claims.claims(), fat.size), loads, rams


@dataclass(frozen=True, slots=True)
class _Owned:
    """The bytes of the rows of an OwnerTable, whether a row is used or not.

    file, memory: partitions, by row; load, ram: bytes of each row.
    uncounted: spans of each row in memory that are not in the file.
    """

    file: Partition
    memory: MemoryPartition
    load: Int
    ram: Int
    uncounted: Int


class _LedgerBuilder:
    """Collects claims on the file and the memory of one image."""

    def __init__(self, image: MachO, ranges: NamedRanges, inputs: tuple[InputSection, ...]) -> None:
        self.image = image
        self.ranges = ranges
        self.inputs = inputs
        self.table = OwnerTable()
        self.file = ClaimList()
        self.memory = ClaimList()
        loaded = sorted(
            (s for s in image.segments if image.is_loaded(s) and s.memory_size),
            key=lambda s: s.address,
        )
        self.loaded = tuple(loaded)
        # Memory is partitioned as if the segments lay one behind the other.
        self.base = np.concatenate(
            [[0], np.cumsum([s.memory_size for s in loaded], dtype=np.int64)]
        )
        self.place_of = {
            id(segment): start for segment, start in zip(loaded, self.base.tolist(), strict=False)
        }
        self.backed = sorted((s for s in image.segments if s.file_size), key=lambda s: s.offset)
        self.backed_ends = [s.offset + s.file_size for s in self.backed]

    def build(self, title: str) -> Ledger:
        """Make all claims, and the ledger from them."""
        self.claim_sections()
        self.claim_pieces()
        self.claim_gaps()
        image = self.image
        file = partition(self.file.claims(), image.size)
        whole = partition(self.memory.claims(), int(self.base[-1]))
        memory, offset = self.memory_partition(whole)
        load, ram = self.loaded_bytes(memory)
        # A zero-filled section may begin on the last page that the file has of a segment; in the
        # file, those bytes are page slack.
        held = (offset >= 0) & (
            file.owner[np.searchsorted(file.start, offset, side="right") - 1] == memory.owner
        )
        uncounted = np.bincount(memory.owner[~held], minlength=len(self.table)).astype(np.int64)
        info = ImageInfo(
            str(image.path),
            title,
            "macho",
            image.arch,
            image.uuid,
            image.size,
            image.load,
            image.ram,
            needed_dylibs(image),
        )
        owned = _Owned(file, memory, load, ram, uncounted)
        return _ledger(info, self.table, self.inputs, owned)

    def places(self) -> list[int | None]:
        """Return where each section begins in the partition of memory; None if it is not loaded."""
        places: list[int | None] = []
        for section in self.image.sections:
            segment = self.image.segments[section.segment]
            place = self.place_of.get(id(segment))
            places.append(None if place is None else place + section.address - segment.address)
        return places

    def claim_sections(self) -> None:
        """Claim the contents of sections."""
        image = self.image
        places = self.places()
        for content in contents(image, self.ranges, self.inputs, fixups(image)):
            section = content.section
            owner = self.table.row(
                section.full_name,
                self.segment_of(section),
                content.kind,
                content.analyzer,
                names=content.names,
                part=content.part,
                input_=content.input,
                confidence=content.confidence,
            )
            start, end = content.offset, min(content.offset + content.size, section.size)
            if section.file_size:
                self.file.add(section.offset + start, section.offset + end, owner, content.rank)
            place = places[section.index]
            if place is not None:
                self.memory.add(place + start, place + end, owner, content.rank)

    def segment_of(self, section: Section) -> str:
        """Return the name of a section's segment.

        An object has one segment without a name; there, the section says which segment it will be
        in.
        """
        return self.image.segments[section.segment].name or section.segment_name

    def claim_pieces(self) -> None:
        """Claim what lies outside of sections."""
        # Pieces come in runs of one segment, half a million of them.
        low = high = shift = 0
        name = ""
        for piece in pieces(self.image, self.ranges):
            start, end = piece.offset, piece.offset + piece.size
            if not low <= start < high:
                segment = self.segment_at(start)
                low, high, name = start, start + 1, ""
                if segment is not None:
                    low, high, name = (
                        segment.offset,
                        segment.offset + segment.file_size,
                        segment.name,
                    )
                place = None if segment is None else self.place_of.get(id(segment))
                shift = -1 if place is None else place - low
            owner = self.table.row(
                piece.section, name, piece.kind, piece.analyzer, names=piece.names, part=piece.part
            )
            self.file.add(start, end, owner, piece.rank)
            if shift >= 0:
                self.memory.add(start + shift, min(end, high) + shift, owner, piece.rank)

    def segment_at(self, offset: int) -> Segment | None:
        """Return the segment that a byte of the file belongs to; no two have the same byte."""
        i = bisect_right(self.backed_ends, offset)
        return self.backed[i] if i < len(self.backed) and self.backed[i].offset <= offset else None

    def claim_gaps(self) -> None:
        """Claim bytes that nothing else claims.

        In the file they are page slack at the end of a segment, else padding, if they are zeros. In
        memory they are always one of these two.
        """
        edges = sorted({edge for s in self.backed for edge in (s.offset, s.offset + s.file_size)})
        for low, high in _cut(self.file.gaps(0, self.image.size), edges):
            segment = self.segment_at(low)
            is_last = segment is not None and high == segment.offset + segment.file_size
            kind = (
                "unattributed"
                if np.any(self.image.data[low:high])
                else "page slack"
                if is_last
                else "section gap"
            )
            owner = self.table.row(
                f"({kind})", segment.name if segment is not None else "", kind, kind
            )
            self.file.add(low, high, owner, SECTION)
        bases = self.base.tolist()
        for low, high in _cut(self.memory.gaps(0, bases[-1]), bases):
            at = bisect_right(bases, low)
            kind = "page slack" if high == bases[at] else "section gap"
            self.memory.add(
                low,
                high,
                self.table.row(f"({kind})", self.loaded[at - 1].name, kind, kind),
                SECTION,
            )

    def memory_partition(self, whole: Partition) -> tuple[MemoryPartition, Int]:
        """Move the partition's spans to the addresses of their segments.

        Returns also the file offset at which each span begins, -1 for one that is not in the file.
        """
        if not self.loaded:
            nothing = np.zeros(0, np.int64)
            return MemoryPartition(nothing, nothing, nothing), nothing
        # A span ends where its segment does, even if its owner goes on in the next.
        start = distinct(np.concatenate([whole.start, self.base[:-1]]))
        owner = whole.owner[np.searchsorted(whole.start, start, side="right") - 1]
        size = np.diff(start, append=whole.size)
        which = np.searchsorted(self.base, start, side="right") - 1
        inside = start - self.base[which]
        addresses, offsets, sizes = (
            np.array([getter(s) for s in self.loaded], np.int64)[which]
            for getter in (attrgetter("address"), attrgetter("offset"), attrgetter("file_size"))
        )
        return MemoryPartition(addresses + inside, size, owner), np.where(
            inside < sizes, offsets + inside, -1
        )

    def loaded_bytes(self, memory: MemoryPartition) -> tuple[Int, Int]:
        """Return load and ram of each owner.

        load: its bytes in sections with content; ram: those in writable sections.
        """
        image = self.image
        counts = np.zeros((2, len(self.table)), np.int64)
        start, end = memory.address, memory.address + memory.size
        for section in image.sections:
            if not section.size or not image.section_is_loaded(section):
                continue
            low, high = (
                np.searchsorted(end, section.address, side="right"),
                np.searchsorted(start, section.address + section.size),
            )
            here = np.minimum(end[low:high], section.address + section.size) - np.maximum(
                start[low:high], section.address
            )
            for row, wanted in (
                (0, section.file_size > 0),
                (1, image.section_is_writable(section)),
            ):
                if wanted:
                    np.add.at(counts[row], memory.owner[low:high], here)
        return counts[0], counts[1]


def _cut(gaps: Sequence[tuple[int, int]], edges: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the gaps, cut at edges."""
    for start, end in gaps:
        yield from pairwise(
            (start, *edges[bisect_right(edges, start) : bisect_left(edges, end)], end)
        )


def _inputs_of_stabs(image: MachO, names: MachO, ranges: NamedRanges) -> tuple[InputSection, ...]:
    """Make rows like a map's from functions whose object STABs name."""
    objects = stabs(names).objects
    rows = (
        row
        for row in ranges.rows
        if row.source in (STAB, MAP) and row.address in objects and row.names
    )
    return tuple(
        InputSection(
            image.sections[row.section].full_name,
            row.names[0].decode("utf-8", "backslashreplace"),
            objects[row.address],
            row.address,
            row.size,
            False,
        )
        for row in rows
    )


def _ledger(
    info: ImageInfo, table: OwnerTable, inputs: tuple[InputSection, ...], owned: _Owned
) -> Ledger:
    """Make the ledger, without the rows that own nothing."""
    file, memory = owned.file, owned.memory
    count = np.bincount(file.owner, minlength=len(table)).astype(np.int64) + owned.uncounted
    used = (count > 0) | (owned.load > 0) | (owned.ram > 0)
    new = np.cumsum(used) - 1
    symbols = table.symbol_texts()
    hashes = hash_texts(symbols)
    renumbered = Partition(file.start, new[file.owner], file.size)
    mapped = MemoryPartition(memory.address, memory.size, new[memory.owner])
    return Ledger(
        image=info,
        sections=tuple(table.sections),
        segments=tuple(table.segments),
        symbols=symbols,
        inputs=inputs,
        parts=table.part_texts(),
        owners=table.owners(used),
        groups=table.groups(),
        make_file=lambda: renumbered,
        make_memory=lambda: mapped,
        sums=ColumnSums(
            {
                "file": file.bytes_by_owner(len(table))[:-1][used],
                "load": owned.load[used],
                "ram": owned.ram[used],
                "count": count[used],
            }
        ),
        hashes=hashes,
        make_hash_order=cache(lambda: hash_order(hashes)),
    )
