"""Make the ledger of a Mach-O image."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.base.memory import release
from sizeguard.columns.distinct import distinct
from sizeguard.columns.sums import ColumnSums
from sizeguard.columns.texts import Int
from sizeguard.formats.linkmap.link_map import InputSection
from sizeguard.formats.macho.fixups import fixups
from sizeguard.formats.macho.image import MachO, Segment
from sizeguard.formats.macho.needed import needed_dylibs
from sizeguard.ledger.ledger import ImageInfo, Ledger, MemoryPartition
from sizeguard.ledger.macho.claim_columns import ClaimTable, OwnerColumns
from sizeguard.ledger.macho.contents import Contents, contents
from sizeguard.ledger.macho.linkedit_ranges import Linkedit, linkedit_claims
from sizeguard.ledger.macho.name_refs import NameRefs
from sizeguard.ledger.macho.named_ranges import (
    MAP,
    SOURCES,
    STAB,
    NamedRanges,
    named_ranges,
    stabs,
)
from sizeguard.ledger.partition import UNATTRIBUTED, Partition, partition

_OWNED = np.iinfo(np.int64).max


def macho_ledger(
    image: MachO, names: MachO | None = None, inputs: Sequence[InputSection] = (), title: str = ""
) -> Ledger:
    """Make the ledger of one image.

    names: the same build with symbols, or its dSYM; inputs: the rows of its linker map.

    Without a map, STABs give the object of a function. For a slice of a universal binary, the
    ledger covers only the slice.
    """
    tables = [image.symbols.names]
    if names is None:
        names = image
    elif names is not image:
        tables.append(names.symbols.names)
    refs = NameRefs(*tables)
    ranges = named_ranges(image, names, inputs, refs, refs.first[-1])
    inputs = tuple(inputs) or _inputs_of_stabs(image, names, ranges, refs)
    release(image.data)
    return _LedgerBuilder(image, ranges, inputs, refs).build(title)


@dataclass(frozen=True, slots=True)
class _Owned:
    """The bytes of owners, including unused owners.

    file, make_memory: partitions, by owner; load, ram: bytes of each owner.
    uncounted: spans of each owner in memory that are not in the file.
    """

    file: Partition
    make_memory: Callable[[], MemoryPartition]
    load: Int
    ram: Int
    uncounted: Int


class _LedgerBuilder:
    """Collect claims on the file and the memory of one image."""

    def __init__(
        self,
        image: MachO,
        ranges: NamedRanges,
        inputs: tuple[InputSection, ...],
        refs: NameRefs,
    ) -> None:
        self.image = image
        self.ranges = ranges
        self.inputs = inputs
        self.table = ClaimTable(refs, ranges)
        loaded = sorted(
            (s for s in image.segments if image.is_loaded(s) and s.memory_size),
            key=lambda s: s.address,
        )
        self.loaded = tuple(loaded)
        # Memory is partitioned as if the segments were adjacent.
        self.base = np.concatenate(
            [[0], np.cumsum([s.memory_size for s in loaded], dtype=np.int64)]
        )
        self.place_of = {
            id(segment): start for segment, start in zip(loaded, self.base.tolist(), strict=False)
        }
        self.backed = sorted((s for s in image.segments if s.file_size), key=lambda s: s.offset)
        self.backed_ends = [s.offset + s.file_size for s in self.backed]

    # More than 40 lines: the file and the memory are partitioned in turns, to hold less at once.
    def build(self, title: str) -> Ledger:
        """Make all claims, and the ledger from them."""
        self.claim_sections()
        self.claim_pieces()
        image = self.image
        release(image.data)
        owners = self.table.owners()
        release(image.data)  # the names were read
        claimed = partition(self.table.take_file(owners.of_claim), image.size)
        zeros = partition(self.table.take_zeros(owners.of_claim), int(self.base[-1]))
        file = self.filled_file(claimed, owners)
        # Where bytes of the file have an owner, memory has the same spans; the others are few.
        coarse = _coarse(claimed)
        others, offset = self.memory_partition(
            self.filled_memory(self.in_memory(coarse, zeros), owners)
        )
        # A zero-filled section may begin on the last page of a segment in the file, where its bytes
        # are page slack.
        held = (others.owner == _OWNED) | (
            (offset >= 0)
            & (file.owner[np.searchsorted(file.start, offset, side="right") - 1] == others.owner)
        )
        uncounted = np.bincount(others.owner[~held], minlength=len(owners)).astype(np.int64)
        load, ram = self.loaded_bytes(file, zeros, len(owners))

        def make_memory() -> MemoryPartition:
            return self.memory_partition(
                self.filled_memory(self.in_memory(owners.without_more(file), zeros), owners)
            )[0]

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
            kind=image.kind,
        )
        owned = _Owned(file, make_memory, load, ram, uncounted)
        return _ledger(info, self.table, owners, self.inputs, owned)

    def places(self) -> list[int | None]:
        """Return the start of each section in the partition of memory; None if it is not loaded."""
        places: list[int | None] = []
        for section in self.image.sections:
            segment = self.image.segments[section.segment]
            place = self.place_of.get(id(segment))
            places.append(None if place is None else place + section.address - segment.address)
        return places

    def claim_sections(self) -> None:
        """Claim the contents of sections."""
        places = self.places()
        sources = Contents(self.image, self.table, self.ranges, self.inputs, fixups(self.image))
        for section, claims in contents(sources):
            inside = replace(claims, end=np.minimum(claims.end, section.size))
            place = places[section.index]
            if section.file_size:
                self.table.claim(inside, section.offset)
            elif place is not None:
                self.table.claim_zeros(inside, place)

    def claim_pieces(self) -> None:
        """Claim the bytes outside sections."""
        linkedit = Linkedit(self.image, self.table, self.ranges, tuple(self.backed))
        for claims in linkedit_claims(linkedit):
            self.table.claim(claims, 0)

    def segment_at(self, offset: int) -> Segment | None:
        """Return the segment of a byte of the file; segments do not share bytes."""
        i = bisect_right(self.backed_ends, offset)
        return self.backed[i] if i < len(self.backed) and self.backed[i].offset <= offset else None

    def filled_file(self, claimed: Partition, owners: OwnerColumns) -> Partition:
        """Give owners to unclaimed bytes of the file.

        If they are zeros, they are page slack at the end of a segment, else padding.
        """
        edges = sorted({edge for s in self.backed for edge in (s.offset, s.offset + s.file_size)})
        pieces = []
        for low, high in _cut(_gaps(claimed), edges):
            segment = self.segment_at(low)
            is_last = segment is not None and high == segment.offset + segment.file_size
            kind = (
                "unattributed"
                if np.any(self.image.data[low:high])
                else "page slack"
                if is_last
                else "section gap"
            )
            name = segment.name if segment is not None else ""
            pieces.append((low, owners.more(self.table.context(f"({kind})", name, kind, kind))))
        return _filled(claimed, pieces)

    def filled_memory(self, claimed: Partition, owners: OwnerColumns) -> Partition:
        """Give owners to unclaimed bytes of memory: page slack or padding."""
        bases = self.base.tolist()
        pieces = []
        for low, high in _cut(_gaps(claimed), bases):
            at = bisect_right(bases, low)
            kind = "page slack" if high == bases[at] else "section gap"
            context = self.table.context(f"({kind})", self.loaded[at - 1].name, kind, kind)
            pieces.append((low, owners.more(context)))
        return _filled(claimed, pieces)

    def in_memory(self, file: Partition, zeros: Partition) -> Partition:
        """Partition memory: bytes of the file in loaded segments, then zero-filled sections."""
        nothing = np.zeros(0, np.int64)
        starts, owners = [nothing], [nothing]
        for segment, base in zip(self.loaded, self.base.tolist(), strict=False):
            end = segment.offset + segment.file_size
            if segment.file_size:
                low = int(np.searchsorted(file.start, segment.offset, side="right")) - 1
                high = int(np.searchsorted(file.start, end))
                start = np.maximum(file.start[low:high], segment.offset)
                starts.append(start + (base - segment.offset))
                owners.append(file.owner[low:high])
            if segment.memory_size > segment.file_size:
                starts.append(np.array([base + segment.file_size]))
                owners.append(np.array([UNATTRIBUTED]))
        held = Partition(np.concatenate(starts), np.concatenate(owners), zeros.size)
        if not len(held.start):
            return held
        start = distinct(np.concatenate([held.start, zeros.start]))
        owner, of_zeros = (
            each.owner[np.searchsorted(each.start, start, side="right") - 1]
            for each in (held, zeros)
        )
        return Partition(start, np.where(owner < 0, of_zeros, owner), zeros.size)

    def memory_partition(self, whole: Partition) -> tuple[MemoryPartition, Int]:
        """Move the partition's spans to the addresses of their segments.

        Also returns the file offset at which each span begins, -1 for spans that are not in the
        file.
        """
        if not self.loaded:
            nothing = np.zeros(0, np.int64)
            return MemoryPartition(nothing, nothing, nothing), nothing
        # A span ends with its segment, even if its owner continues in the next.
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

    def loaded_bytes(self, file: Partition, zeros: Partition, owners: int) -> tuple[Int, Int]:
        """Return load and ram of each owner.

        load: its bytes in sections with content; ram: its bytes in writable sections.
        """
        image = self.image
        load, ram = (np.zeros(owners, np.int64) for _ in range(2))
        for section, place in zip(image.sections, self.places(), strict=True):
            if not section.size or place is None or not image.section_is_loaded(section):
                continue
            spans, start = (file, section.offset) if section.file_size else (zeros, place)
            low = int(np.searchsorted(spans.start, start, side="right")) - 1
            high = int(np.searchsorted(spans.start, start + section.size))
            edges = np.append(spans.start[low:high], start + section.size)
            edges[0] = start
            owner, size = spans.owner[low:high], np.diff(edges)
            if section.file_size:
                np.add.at(load, owner, size)
            if image.section_is_writable(section):
                np.add.at(ram, owner, size)
        return load, ram


def _coarse(claimed: Partition) -> Partition:
    """Return the partition into claimed bytes, as one owner, and unclaimed bytes."""
    owned = claimed.owner >= 0
    edges = np.flatnonzero(np.append(True, owned[1:] != owned[:-1]))
    owner = np.where(owned[edges], _OWNED, UNATTRIBUTED)
    return Partition(claimed.start[edges], owner, claimed.size)


def _gaps(claimed: Partition) -> list[tuple[int, int]]:
    """Return the unclaimed ranges."""
    start = np.flatnonzero(np.diff(claimed.owner < 0, prepend=False, append=False))
    edges = np.append(claimed.start, claimed.size)[start].tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _filled(claimed: Partition, pieces: Sequence[tuple[int, int]]) -> Partition:
    """Replace unclaimed ranges by pieces (start, owner)."""
    more = np.array(pieces, np.int64).reshape(-1, 2)
    kept = claimed.owner >= 0
    start, owner = claimed.start[kept], claimed.owner[kept]
    at = np.searchsorted(start, more[:, 0])
    start, owner = np.insert(start, at, more[:, 0]), np.insert(owner, at, more[:, 1])
    is_new = np.ones(len(owner), np.bool_)
    is_new[1:] = owner[1:] != owner[:-1]
    return Partition(start[is_new], owner[is_new], claimed.size)


def _cut(gaps: Sequence[tuple[int, int]], edges: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the gaps, cut at edges."""
    for start, end in gaps:
        yield from pairwise(
            (start, *edges[bisect_right(edges, start) : bisect_left(edges, end)], end)
        )


def _inputs_of_stabs(
    image: MachO, names: MachO, ranges: NamedRanges, refs: NameRefs
) -> tuple[InputSection, ...]:
    """Make rows like a map's from functions whose object is named by STABs."""
    objects = stabs(names).objects
    if not objects:
        return ()
    said = (ranges.source == SOURCES.index(STAB)) | (ranges.source == SOURCES.index(MAP))
    rows = np.flatnonzero(said & ranges.has_name(np.arange(len(ranges))))
    texts = refs.texts().take(ranges.member[ranges.first[rows]])
    columns = (ranges.section[rows], ranges.address[rows], ranges.size[rows])
    return tuple(
        InputSection(
            image.sections[section].full_name, texts[i], objects[address], address, size, False
        )
        for i, (section, address, size) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
        if address in objects
    )


# More than 40 lines: a line for each field of the ledger.
def _ledger(
    info: ImageInfo,
    table: ClaimTable,
    owners: OwnerColumns,
    inputs: tuple[InputSection, ...],
    owned: _Owned,
) -> Ledger:
    """Make the ledger, without owners that have no bytes."""
    file, unnumbered = owned.file, owned.make_memory
    count = np.bincount(file.owner, minlength=len(owners)).astype(np.int64) + owned.uncounted
    used = (count > 0) | (owned.load > 0) | (owned.ram > 0)
    new = np.cumsum(used, dtype=np.int32) - np.int32(1)

    def make_file() -> Partition:
        return Partition(file.start, new[file.owner].astype(np.int64), file.size)

    def make_memory() -> MemoryPartition:
        memory = unnumbered()
        return MemoryPartition(memory.address, memory.size, new[memory.owner].astype(np.int64))

    return Ledger(
        image=info,
        sections=tuple(table.sections),
        segments=tuple(table.segments),
        symbols=owners.names.texts,
        inputs=inputs,
        parts=owners.parts.texts,
        owners=owners.take(used, table.contexts),
        groups=owners.groups,
        make_file=make_file,
        make_memory=make_memory,
        sums=ColumnSums(
            {
                "file": file.bytes_by_owner(len(owners))[:-1][used],
                "load": owned.load[used],
                "ram": owned.ram[used],
                "count": count[used],
            }
        ),
        hashes=owners.names.hashes,
        make_hash_order=lambda: np.arange(len(owners.names.hashes)),
    )
