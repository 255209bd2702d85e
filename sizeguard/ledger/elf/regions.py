"""Make the two partitions of an ELF image: of the file, and of the memory of its segments."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np

from sizeguard.base.dataclass import dataclass
from sizeguard.columns.distinct import distinct
from sizeguard.columns.texts import Int
from sizeguard.formats.elf import PF_R, PF_W, PF_X, PT_LOAD, Elf, Segment, signed
from sizeguard.ledger.elf.owner_table import Places, disjoint
from sizeguard.ledger.ledger import NONE, MemoryPartition
from sizeguard.ledger.partition import NOBODY, Partition, strongest

HEADERS, SECTION_GAP, PAGE_SLACK, UNKNOWN, MEMORY_GAP = range(5)

_FILLS = (0x00, 0xCC, 0x90)
_NOT_LOADED = "(not loaded)"
_LAST = np.iinfo(np.int64).max
_CHUNK = 1 << 20  # bytes that are compared at once


@dataclass(slots=True)
class Extra:
    """Rows for bytes outside all sections, numbered from `first`: their kind and segment.

    what: HEADERS, SECTION_GAP, PAGE_SLACK, UNKNOWN or MEMORY_GAP.
    """

    first: int
    what: list[int] = field(default_factory=list)
    segment: list[int] = field(default_factory=list)

    def add(self, what: int, segment: int) -> int:
        """Add a row and return its number."""
        self.what.append(what)
        self.segment.append(segment)
        return self.first + len(self.what) - 1


@dataclass(frozen=True, slots=True)
class FirstRanges:
    """The first of some ranges over each place.

    edges: of all ranges, ascending; first: by the place between two edges, NONE without a range
    """

    edges: Int
    first: Int

    @staticmethod
    def of(ranges: Sequence[tuple[int, int]]) -> FirstRanges:
        """Compare ranges [start, end), which may overlap or be empty."""
        start, end = np.array(ranges, np.int64).reshape(-1, 2).T
        filled = start < end
        edges = distinct(np.concatenate([start[filled], end[filled]]))
        low, high = np.searchsorted(edges, start), np.searchsorted(edges, end)
        # The place behind the last edge, like the one before the first, has no range.
        first = strongest(low, high, len(edges) + 1)
        return FirstRanges(edges, np.where(first == NOBODY, NONE, first))

    def at(self, places: Int) -> Int:
        """Return the number of the first range over each place, NONE if there is none."""
        return self.first[np.searchsorted(self.edges, places, side="right") - 1]


@dataclass(frozen=True, slots=True)
class Segments:
    """The loaded segments in order of address, without empty ones.

    names:   their names in reports, then a name for bytes that are not loaded.
    in_file: their ranges of the file
    """

    loads: tuple[Segment, ...]
    names: tuple[str, ...]
    in_file: FirstRanges

    @staticmethod
    def of(image: Elf) -> Segments:
        """Collect the loaded segments of an image and name them by their flags."""
        loads = sorted(
            (s for s in image.segments if s.type == PT_LOAD and s.memory_size > 0),
            key=lambda s: (signed(s.address), s.offset),
        )
        names: list[str] = []
        known: Counter[str] = Counter()
        for load in loads:
            flags = "".join(
                letter if load.flags & bit else "-"
                for letter, bit in (("r", PF_R), ("w", PF_W), ("x", PF_X))
            )
            name = f"LOAD {flags}"
            known[name] += 1
            names.append(f"{name} #{known[name]}" if known[name] > 1 else name)
        in_file = FirstRanges.of([(s.offset, s.offset + s.file_size) for s in loads])
        return Segments(tuple(loads), (*names, _NOT_LOADED), in_file)

    def at_offset(self, offset: int) -> int:
        """Return the segment that loads a byte of the file."""
        found = int(self.in_file.at(np.array([offset]))[0])
        return found if found != NONE else len(self.loads)

    def of_sections(self, image: Elf) -> Int:
        """Return the segment of each section."""
        starts = [signed(segment.address) for segment in self.loads]
        ends = [
            min(start + segment.memory_size, _LAST)
            for start, segment in zip(starts, self.loads, strict=True)
        ]
        in_memory = FirstRanges.of(list(zip(starts, ends, strict=True)))
        found = in_memory.at(np.array([signed(s.address) for s in image.sections], np.int64))
        is_loaded = np.array([s.is_allocated for s in image.sections], np.bool_)
        is_loaded &= not image.is_relocatable
        return np.where(is_loaded & (found != NONE), found, len(self.loads))


@dataclass(frozen=True, slots=True)
class Region:
    """A range [start, end) of the file or of memory, with its holder.

    The holder is a section, a row, or, in memory, the file's bytes from `offset`.
    """

    start: int
    end: int
    section: int = NONE
    row: int = NONE
    offset: int = NONE


def file_regions(image: Elf, segments: Segments, extra: Extra) -> list[Region]:
    """Cut the file into regions, in order.

    Headers win over sections; where sections overlap, the smaller one wins.
    """
    claims = [
        (offset, offset + size, 0, size, i)
        for i, (offset, size) in enumerate(_headers(image))
        if size
    ]
    claims += [
        (s.offset, s.offset + s.size, 1, s.size, s.index) for s in image.sections if s.file_size
    ]
    table = np.array(sorted(claims), np.int64).reshape(-1, 5)
    start, end, which = disjoint(
        table[:, 0], table[:, 1], lambda: (table[:, 2], table[:, 3], table[:, 4])
    )
    regions: list[Region] = []
    reached = 0
    for low, high, is_section, index in zip(
        start.tolist(),
        end.tolist(),
        table[which, 2].tolist(),
        table[which, 4].tolist(),
        strict=True,
    ):
        regions += _gap(image, segments, extra, reached, low)
        if is_section:
            regions.append(Region(low, high, section=index))
        else:
            regions.append(Region(low, high, row=extra.add(HEADERS, segments.at_offset(low))))
        reached = high
    return regions + _gap(image, segments, extra, reached, image.size)


def memory_regions(image: Elf, segments: Segments, extra: Extra) -> list[Region]:
    """Cut the memory of the segments into regions.

    Memory contains bytes of the file, NOBITS sections, or nothing. Where segments overlap, the one
    that begins first has the bytes.
    """
    blank = _blank_ranges(image)
    starts = [start for start, _, _ in blank]
    regions: list[Region] = []
    reached = -(1 << 63)
    for number, segment in enumerate(segments.loads):
        base = signed(segment.address)
        low, high = max(base, reached), base + segment.memory_size
        middle = min(base + segment.file_size, high)
        if low < middle:
            regions.append(Region(low, middle, offset=segment.offset + low - base))
        at = max(low, middle)
        first = max(bisect_right(starts, at) - 1, 0)
        for start, stop, index in blank[first : bisect_left(starts, high)]:
            start, stop = max(start, at), min(stop, high)
            if start < stop:
                if start > at:
                    regions.append(Region(at, start, row=extra.add(MEMORY_GAP, number)))
                regions.append(Region(start, stop, section=index))
                at = stop
        if at < high:
            regions.append(Region(at, high, row=extra.add(MEMORY_GAP, number)))
        reached = max(reached, high)
    return regions


def _blank_ranges(image: Elf) -> list[tuple[int, int, int]]:
    """Return start, end and index of NOBITS sections in memory, ascending and disjoint."""
    zeroed = sorted(
        (signed(s.address), s.index, s.size)
        for s in image.sections
        if s.is_nobits and s.size and s.is_allocated and not s.is_thread_local
    )
    found: list[tuple[int, int, int]] = []
    for address, index, size in zeroed:
        start = max(address, found[-1][1]) if found else address
        if start < address + size:
            found.append((start, address + size, index))
    return found


def file_partition(regions: list[Region], image: Elf, places: Places) -> Partition:
    """Make the partition of the file."""
    starts, owners = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for region in regions:
        if region.row >= 0:
            starts.append(np.array([region.start]))
            owners.append(np.array([region.row]))
        else:
            rows = clipped(places, region, image.sections[region.section].offset)
            starts.append(rows.start)
            owners.append(rows.owner)
    return Partition(np.concatenate(starts), np.concatenate(owners), image.size)


def memory_partition(
    regions: list[Region], image: Elf, places: Places, file: Partition
) -> MemoryPartition:
    """Make the partition of memory; bytes from the file have the same owners as in the file."""
    nothing = np.zeros(0, np.int64)
    addresses, sizes, owners = [nothing], [nothing], [nothing]
    stops = np.append(file.start[1:], file.size)
    for region in regions:
        if region.row >= 0:
            owner, start, size = (
                np.array([region.row]),
                np.array([region.start]),
                np.array([region.end - region.start]),
            )
        elif region.section >= 0:
            owner, start, size = clipped(
                places, region, signed(image.sections[region.section].address)
            )
        else:
            first, last = region.offset, region.offset + region.end - region.start
            i, j = (
                int(np.searchsorted(file.start, first, side="right")) - 1,
                int(np.searchsorted(file.start, last)),
            )
            place = np.maximum(file.start[i:j], first)
            owner, start, size = (
                file.owner[i:j],
                place + (region.start - first),
                np.minimum(stops[i:j], last) - place,
            )
        addresses.append(start)
        sizes.append(size)
        owners.append(owner)
    return MemoryPartition(np.concatenate(addresses), np.concatenate(sizes), np.concatenate(owners))


class ClippedRows(NamedTuple):
    """The rows of a section inside a region, as columns: owner, start and size in bytes."""

    owner: Int
    start: Int
    size: Int


def clipped(places: Places, region: Region, base: int) -> ClippedRows:
    """Cut the rows of a section to those inside a region.

    base: start of the section, in the coordinates of the region.
    """
    low, high = places.rows_of[region.section]
    start = places.start[low:high] + np.int64(base - int(places.line.at[region.section]))
    end = start + places.sizes(region.section)
    i, j = (
        int(np.searchsorted(end, region.start, side="right")),
        int(np.searchsorted(start, region.end)),
    )
    first = np.maximum(start[i:j], region.start)
    size = np.minimum(end[i:j], region.end) - first
    return ClippedRows(np.arange(low + i, low + j), first, size)


def _headers(image: Elf) -> tuple[tuple[int, int], ...]:
    """Return offset and size of the ELF header and of the two header tables."""
    return image.header, image.program_headers, image.section_headers


def _gap(image: Elf, segments: Segments, extra: Extra, low: int, high: int) -> list[Region]:
    """Cut the unused range [low, high) of the file at the edges of segments."""
    if low >= high:
        return []
    edges = segments.in_file.edges
    first, last = np.searchsorted(edges, low, side="right"), np.searchsorted(edges, high)
    cuts = [low, *edges[first:last].tolist()]
    found: list[Region] = []
    for start, end in zip(cuts, [*cuts[1:], high], strict=True):
        segment = segments.at_offset(start)
        what = UNKNOWN
        if _is_filled(image, start, end):
            is_loaded = segment < len(segments.loads)
            is_between = not is_loaded and len(edges) > 0 and edges[0] < start < edges[-1]
            what = PAGE_SLACK if is_between else SECTION_GAP
        found.append(Region(start, end, row=extra.add(what, segment)))
    return found


def _is_filled(image: Elf, low: int, high: int) -> bool:
    """Check that all bytes are equal, with a value that linkers use to fill gaps."""
    fill = image.data[low]
    if fill not in _FILLS:
        return False
    return all(
        bool((image.data[at : min(at + _CHUNK, high)] == fill).all())
        for at in range(low, high, _CHUNK)
    )
