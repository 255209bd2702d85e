"""Turns a Mach-O image, and what is known of it, into its ledger: two partitions, of the file and of the memory of its segments."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from operator import attrgetter

import numpy as np

from sizeguard.formats.linkmap.row import InputSection
from sizeguard.formats.macho.fixups import fixups
from sizeguard.formats.macho.image import MachO, Section, Segment
from sizeguard.formats.macho.reader import FatFile
from sizeguard.formats.text_hash import hash_order, hash_texts
from sizeguard.formats.texts import Int
from sizeguard.ledger.claiming import ClaimList, OwnerTable
from sizeguard.ledger.ledger import ImageInfo, Ledger, MemoryPartition
from sizeguard.ledger.macho_contents import SECTION, contents
from sizeguard.ledger.macho_linkedit import pieces
from sizeguard.ledger.macho_ranges import MAP, STAB, Ranges, named_ranges, stabs
from sizeguard.ledger.partition import Partition, distinct, partition
from sizeguard.ledger.sums import ColumnSums


def macho_ledger(image: MachO, names: MachO | None = None, inputs: Sequence[InputSection] = (), title: str = "") -> Ledger:
    """The ledger of one image. `names`: the same build with symbols, or its dSYM; `inputs`: the rows of its linker map.

    Without a map, STABs say which object a function comes from. Of a slice of a fat file the ledger is that of the slice alone.
    """
    names = names if names is not None else image
    ranges = named_ranges(image, names, inputs)
    inputs = tuple(inputs) or _inputs_of_stabs(image, names, ranges)
    return _Builder(image, ranges, inputs).build(title)


def fat_ledger(fat: FatFile, title: str = "") -> Ledger:
    """The ledger of a fat file: a row for its header, one for each image, and what lies between. Only one of them will be loaded,
    so it has no memory of its own; load and ram of each image stand in its row, and their sums in `image`."""
    table, claims = OwnerTable(), ClaimList()
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
        claims.add(start, end, table.row("(section gap)", "", "section gap", "section gap"), SECTION)
    file = partition(claims.claims(), fat.size)
    blank = np.zeros(len(table) - len(loads), np.int64)
    load, ram = (np.concatenate([np.array(column, np.int64), blank]) for column in (loads, rams))
    arch = "+".join(image.arch for image in fat.images)
    ids = ",".join(image.uuid for image in fat.images)
    info = ImageInfo(str(fat.path), title, "macho", arch, ids, fat.size, int(load.sum()), int(ram.sum()))
    nothing = np.zeros(0, np.int64)
    return _ledger(info, table, (), file, MemoryPartition(nothing, nothing, nothing), load, ram, np.zeros(len(table), np.int64))


class _Builder:
    def __init__(self, image: MachO, ranges: Ranges, inputs: tuple[InputSection, ...]) -> None:
        self.image = image
        self.ranges = ranges
        self.inputs = inputs
        self.table = OwnerTable()
        self.file = ClaimList()
        self.memory = ClaimList()
        loaded = sorted((s for s in image.segments if image.is_loaded(s) and s.memory_size), key=lambda s: s.address)
        self.loaded = tuple(loaded)
        # Memory is partitioned as if the segments lay one behind the other.
        self.base = np.concatenate([[0], np.cumsum([s.memory_size for s in loaded], dtype=np.int64)])
        self.place_of = {id(segment): start for segment, start in zip(loaded, self.base.tolist(), strict=False)}
        self.backed = sorted((s for s in image.segments if s.file_size), key=lambda s: s.offset)
        self.backed_ends = [s.offset + s.file_size for s in self.backed]

    def build(self, title: str) -> Ledger:
        self.claim_sections()
        self.claim_pieces()
        self.claim_gaps()
        image = self.image
        file = partition(self.file.claims(), image.size)
        whole = partition(self.memory.claims(), int(self.base[-1]))
        memory, offset = self.memory_partition(whole)
        load, ram = self.loaded_bytes(memory)
        # Zero-filled sections may begin on the last page that the file has of a segment: there it has page slack.
        held = (offset >= 0) & (file.owner[np.searchsorted(file.start, offset, side="right") - 1] == memory.owner)
        uncounted = np.bincount(memory.owner[~held], minlength=len(self.table)).astype(np.int64)
        info = ImageInfo(str(image.path), title, "macho", image.arch, image.uuid, image.size, image.load, image.ram)
        return _ledger(info, self.table, self.inputs, file, memory, load, ram, uncounted)

    def places(self) -> list[int | None]:
        """Where each section begins in the partition of memory; None if it is not loaded."""
        places: list[int | None] = []
        for section in self.image.sections:
            segment = self.image.segments[section.segment]
            place = self.place_of.get(id(segment))
            places.append(None if place is None else place + section.address - segment.address)
        return places

    def claim_sections(self) -> None:
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
        """An object has one segment without a name; its sections say where they will be."""
        return self.image.segments[section.segment].name or section.segment_name

    def claim_pieces(self) -> None:
        # Pieces come in runs of one segment, half a million of them.
        low = high = shift = 0
        name = ""
        for piece in pieces(self.image, self.ranges):
            start, end = piece.offset, piece.offset + piece.size
            if not low <= start < high:
                segment = self.segment_at(start)
                low, high, name = start, start + 1, ""
                if segment is not None:
                    low, high, name = segment.offset, segment.offset + segment.file_size, segment.name
                place = None if segment is None else self.place_of.get(id(segment))
                shift = -1 if place is None else place - low
            owner = self.table.row(piece.section, name, piece.kind, piece.analyzer, names=piece.names, part=piece.part)
            self.file.add(start, end, owner, piece.rank)
            if shift >= 0:
                self.memory.add(start + shift, min(end, high) + shift, owner, piece.rank)

    def segment_at(self, offset: int) -> Segment | None:
        """The segment that this byte of the file belongs to. No two have the same."""
        i = bisect_right(self.backed_ends, offset)
        return self.backed[i] if i < len(self.backed) and self.backed[i].offset <= offset else None

    def claim_gaps(self) -> None:
        """What nothing claims: of the file padding if it is zeros, page slack at the end of a segment; of memory the same."""
        edges = sorted({edge for s in self.backed for edge in (s.offset, s.offset + s.file_size)})
        for low, high in _cut(self.file.gaps(0, self.image.size), edges):
            segment = self.segment_at(low)
            is_last = segment is not None and high == segment.offset + segment.file_size
            kind = "unattributed" if np.any(self.image.data[low:high]) else "page slack" if is_last else "section gap"
            owner = self.table.row(f"({kind})", segment.name if segment is not None else "", kind, kind)
            self.file.add(low, high, owner, SECTION)
        bases = self.base.tolist()
        for low, high in _cut(self.memory.gaps(0, bases[-1]), bases):
            at = bisect_right(bases, low)
            kind = "page slack" if high == bases[at] else "section gap"
            self.memory.add(low, high, self.table.row(f"({kind})", self.loaded[at - 1].name, kind, kind), SECTION)

    def memory_partition(self, whole: Partition) -> tuple[MemoryPartition, Int]:
        """The partition with the segments where they are; and where in the file each of its spans begins, -1 if nowhere."""
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
        return MemoryPartition(addresses + inside, size, owner), np.where(inside < sizes, offsets + inside, -1)

    def loaded_bytes(self, memory: MemoryPartition) -> tuple[Int, Int]:
        """load and ram of each owner: its memory in sections that the file holds, and in writable ones."""
        image = self.image
        counts = np.zeros((2, len(self.table)), np.int64)
        start, end = memory.address, memory.address + memory.size
        for section in image.sections:
            if not section.size or not image.section_is_loaded(section):
                continue
            low, high = np.searchsorted(end, section.address, side="right"), np.searchsorted(start, section.address + section.size)
            here = np.minimum(end[low:high], section.address + section.size) - np.maximum(start[low:high], section.address)
            for row, wanted in ((0, section.file_size > 0), (1, image.section_is_writable(section))):
                if wanted:
                    np.add.at(counts[row], memory.owner[low:high], here)
        return counts[0], counts[1]


def _cut(gaps: Sequence[tuple[int, int]], edges: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The gaps, each in two where one of the edges lies in it."""
    for start, end in gaps:
        yield from pairwise((start, *edges[bisect_right(edges, start) : bisect_left(edges, end)], end))


def _inputs_of_stabs(image: MachO, names: MachO, ranges: Ranges) -> tuple[InputSection, ...]:
    """Rows such as a map has, of functions that STABs name the object of."""
    objects = stabs(names).objects
    rows = (row for row in ranges.rows if row.source in (STAB, MAP) and row.address in objects and row.names)
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
    info: ImageInfo,
    table: OwnerTable,
    inputs: tuple[InputSection, ...],
    file: Partition,
    memory: MemoryPartition,
    load: Int,
    ram: Int,
    uncounted: Int,
) -> Ledger:
    count = np.bincount(file.owner, minlength=len(table)).astype(np.int64) + uncounted
    used = (count > 0) | (load > 0) | (ram > 0)
    new = np.cumsum(used) - 1
    symbols = table.symbol_texts()
    hashes = hash_texts(symbols)
    owned = Partition(file.start, new[file.owner], file.size)
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
        make_file=lambda: owned,
        make_memory=lambda: mapped,
        sums=ColumnSums(
            {
                "file": file.bytes_by_owner(len(table))[:-1][used],
                "load": load[used],
                "ram": ram[used],
                "count": count[used],
            }
        ),
        hashes=hashes,
        make_hash_order=cache(lambda: hash_order(hashes)),
    )
