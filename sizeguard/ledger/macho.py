"""Turns a Mach-O image, and what is known of it, into its ledger: two partitions, of the file and of the memory of its segments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter

import numpy as np

from sizeguard.formats.linkmap.row import InputSection
from sizeguard.formats.macho.fixups import fixups
from sizeguard.formats.macho.image import MachO, Section
from sizeguard.formats.macho.reader import FatFile
from sizeguard.formats.texts import Int
from sizeguard.ledger.claiming import ClaimList, OwnerTable
from sizeguard.ledger.ledger import ImageInfo, Ledger, MemoryPartition
from sizeguard.ledger.macho_contents import SECTION, contents
from sizeguard.ledger.macho_linkedit import gap_kind, pieces
from sizeguard.ledger.macho_ranges import MAP, STAB, Ranges, named_ranges, stabs
from sizeguard.ledger.partition import Partition, partition


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

    def place(self, section: Section) -> int | None:
        """Where the section begins in the partition of memory; None if it is not loaded."""
        segment = self.image.segments[section.segment]
        for i, loaded in enumerate(self.loaded):
            if loaded is segment:
                return int(self.base[i]) + section.address - segment.address
        return None

    def claim_sections(self) -> None:
        image = self.image
        places = [self.place(section) for section in image.sections]
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
        for piece in pieces(self.image, self.ranges):
            start, end = piece.offset, piece.offset + piece.size
            owner = self.table.row(piece.section, self.segment_at(start), piece.kind, piece.analyzer, names=piece.names, part=piece.part)
            self.file.add(start, end, owner, piece.rank)
            for i, loaded in enumerate(self.loaded):
                low, high = max(start, loaded.offset), min(end, loaded.offset + loaded.file_size)
                if low < high:
                    shift = int(self.base[i]) - loaded.offset
                    self.memory.add(low + shift, high + shift, owner, piece.rank)

    def segment_at(self, offset: int) -> str:
        return next((s.name for s in self.image.segments if s.offset <= offset < s.offset + s.file_size), "")

    def claim_gaps(self) -> None:
        for start, end in self.file.gaps(0, self.image.size):
            for low, high in self.pieces_of(start, end):
                kind, segment = gap_kind(self.image, low, high)
                self.file.add(low, high, self.table.row(f"({kind})", segment, kind, kind), SECTION)
        for i, loaded in enumerate(self.loaded):
            low, high = int(self.base[i]), int(self.base[i + 1])
            for start, end in self.memory.gaps(low, high):
                kind = "page slack" if end == high else "section gap"
                self.memory.add(start, end, self.table.row(f"({kind})", loaded.name, kind, kind), SECTION)

    def pieces_of(self, start: int, end: int) -> list[tuple[int, int]]:
        """A gap of the file cut where segments begin and end."""
        edges = {edge for s in self.image.segments for edge in (s.offset, s.offset + s.file_size) if start < edge < end}
        cuts = [start, *sorted(edges), end]
        return list(pairwise(cuts))

    def memory_partition(self, whole: Partition) -> tuple[MemoryPartition, Int]:
        """The partition with the segments where they are; and where in the file each of its spans begins, -1 if nowhere."""
        if not self.loaded:
            nothing = np.zeros(0, np.int64)
            return MemoryPartition(nothing, nothing, nothing), nothing
        # A span ends where its segment does, even if its owner goes on in the next.
        start = np.union1d(whole.start, self.base[:-1])
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
    return Ledger(
        image=info,
        sections=tuple(table.sections),
        segments=tuple(table.segments),
        symbols=table.symbol_texts(),
        inputs=inputs,
        parts=table.part_texts(),
        owners=table.owners(used),
        groups=table.groups(),
        file=Partition(file.start, new[file.owner], file.size),
        memory=MemoryPartition(memory.address, memory.size, new[memory.owner]),
        file_bytes=file.bytes_by_owner(len(table))[:-1][used],
        load=load[used],
        ram=ram[used],
        count=count[used],
    )
