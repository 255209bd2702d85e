"""Turns the rows of sections into the two partitions of an image: what lies at each byte of the file and of the memory of its segments."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sizeguard.formats.elf import PF_R, PF_W, PF_X, PT_LOAD, Elf, Segment, signed
from sizeguard.formats.texts import Int
from sizeguard.ledger.elf.rows import Book, disjoint
from sizeguard.ledger.ledger import MemoryPartition
from sizeguard.ledger.partition import Partition

HEADERS, SECTION_GAP, PAGE_SLACK, UNKNOWN, MEMORY_GAP = range(5)

_FILLS = (0x00, 0xCC, 0x90)
_NOT_LOADED = "(not loaded)"
_CHUNK = 1 << 20


@dataclass(slots=True)
class Extra:
    """Rows for what no section holds, numbered from `first` on: what they are and their segment."""

    first: int
    what: list[int] = field(default_factory=list)
    segment: list[int] = field(default_factory=list)

    def add(self, what: int, segment: int) -> int:
        self.what.append(what)
        self.segment.append(segment)
        return self.first + len(self.what) - 1


@dataclass(frozen=True, slots=True)
class Segments:
    """The loaded segments in order of address, none of no bytes; names: what rows call them, the last for what is not loaded."""

    loads: tuple[Segment, ...]
    names: tuple[str, ...]

    @staticmethod
    def of(image: Elf) -> Segments:
        loads = sorted((s for s in image.segments if s.type == PT_LOAD and s.memory_size > 0), key=lambda s: (signed(s.address), s.offset))
        names: list[str] = []
        for load in loads:
            flags = "".join(letter if load.flags & bit else "-" for letter, bit in (("r", PF_R), ("w", PF_W), ("x", PF_X)))
            name = f"LOAD {flags}"
            same = sum(1 for other in names if other.partition(" #")[0] == name)
            names.append(f"{name} #{same + 1}" if same else name)
        return Segments(tuple(loads), (*names, _NOT_LOADED))

    def at_offset(self, offset: int) -> int:
        """The one that loads a byte of the file."""
        return next((i for i, s in enumerate(self.loads) if s.offset <= offset < s.offset + s.file_size), len(self.loads))

    def of_sections(self, image: Elf) -> Int:
        """The one of each section."""
        found = []
        for section in image.sections:
            fits = (i for i, s in enumerate(self.loads) if s.address <= section.address < s.address + s.memory_size)
            found.append(next(fits, len(self.loads)) if section.is_allocated and not image.is_relocatable else len(self.loads))
        return np.array(found, np.int64)


def file_partition(image: Elf, book: Book, segments: Segments, extra: Extra) -> Partition:
    """What each byte of the file belongs to. Headers win over sections, and of sections that overlap the smaller one does."""
    claims = [(offset, offset + size, 0, size, i) for i, (offset, size) in enumerate(_headers(image)) if size]
    claims += [(s.offset, s.offset + s.size, 1, s.size, s.index) for s in image.sections if s.file_size]
    table = np.array(sorted(claims), np.int64).reshape(-1, 5)
    start, end, which = disjoint(table[:, 0], table[:, 1], (table[:, 2], table[:, 3], table[:, 4]))
    starts: list[Int] = []
    owners: list[Int] = []
    begins, lengths = _columns(book)

    def note(at: int, owner: int) -> None:
        starts.append(np.array([at], np.int64))
        owners.append(np.array([owner], np.int64))

    reached = 0
    for low, high, is_section, index in zip(start.tolist(), end.tolist(), table[which, 2].tolist(), table[which, 4].tolist(), strict=True):
        for at, what in _gap(image, segments, reached, low):
            note(at, extra.add(what, segments.at_offset(at)))
        if is_section:
            shift = image.sections[index].offset - int(book.line.at[index])
            first, last = book.rows_of[index]
            rows = np.arange(first, last)
            place = begins[first:last] + shift
            if low > place[0] or high < place[-1] + lengths[last - 1]:
                inside = (place < high) & (place + lengths[first:last] > low)
                rows, place = rows[inside], np.maximum(place[inside], low)
            starts.append(place)
            owners.append(rows)
        else:
            note(low, extra.add(HEADERS, segments.at_offset(low)))
        reached = high
    for at, what in _gap(image, segments, reached, image.size):
        note(at, extra.add(what, segments.at_offset(at)))
    nothing = np.zeros(0, np.int64)
    return Partition(np.concatenate([nothing, *starts]), np.concatenate([nothing, *owners]), image.size)


def memory_partition(image: Elf, book: Book, segments: Segments, extra: Extra, file: Partition) -> MemoryPartition:
    """What each byte of the loaded segments' memory belongs to: what the file has there, else NOBITS sections, else nobody.

    Where segments overlap the one that begins first has the bytes.
    """
    addresses: list[Int] = []
    sizes: list[Int] = []
    owners: list[Int] = []
    stops = np.append(file.start[1:], file.size)
    blank = sorted(
        (signed(s.address), s.index) for s in image.sections if s.is_nobits and s.size and s.is_allocated and not s.is_thread_local
    )
    begins, lengths = _columns(book)
    reached = -(1 << 63)
    for number, segment in enumerate(segments.loads):
        base = signed(segment.address)
        low, high = max(base, reached), base + segment.memory_size
        middle = min(base + segment.file_size, high)
        if low < middle:
            first, last = segment.offset + low - base, segment.offset + middle - base
            i, j = int(np.searchsorted(file.start, first, side="right")) - 1, int(np.searchsorted(file.start, last))
            place = np.maximum(file.start[i:j], first)
            addresses.append(place + (base - segment.offset))
            sizes.append(np.minimum(stops[i:j], last) - place)
            owners.append(file.owner[i:j])
        at = max(low, middle)
        for address, index in blank:
            start, stop = max(address, at), min(address + image.sections[index].size, high)
            if start >= stop:
                continue
            if start > at:
                addresses.append(np.array([at]))
                sizes.append(np.array([start - at]))
                owners.append(np.array([extra.add(MEMORY_GAP, number)]))
            row, behind = book.rows_of[index]
            place = begins[row:behind] + (address - int(book.line.at[index]))
            end = np.minimum(place + lengths[row:behind], stop)
            place = np.maximum(place, start)
            inside = place < end
            addresses.append(place[inside])
            sizes.append((end - place)[inside])
            owners.append(np.arange(row, behind)[inside])
            at = stop
        if at < high:
            addresses.append(np.array([at]))
            sizes.append(np.array([high - at]))
            owners.append(np.array([extra.add(MEMORY_GAP, number)]))
        reached = max(reached, high)
    nothing = np.zeros(0, np.int64)
    columns = (np.concatenate([nothing, *parts]) for parts in (addresses, sizes, owners))
    return MemoryPartition(*columns)


def _columns(book: Book) -> tuple[Int, Int]:
    return book.column("start", np.int64), book.column("size", np.int64)


def _headers(image: Elf) -> tuple[tuple[int, int], ...]:
    return image.header, image.program_headers, image.section_headers


def _gap(image: Elf, segments: Segments, low: int, high: int) -> list[tuple[int, int]]:
    """[low, high) of the file, which nothing holds, cut where segments begin and end: where each piece starts and what it is."""
    if low >= high:
        return []
    loads = [(s.offset, s.offset + s.file_size) for s in segments.loads if s.file_size]
    cuts = sorted({low, *(edge for load in loads for edge in load if low < edge < high)})
    behind = max((end for _, end in loads), default=0)
    found: list[tuple[int, int]] = []
    for start, end in zip(cuts, [*cuts[1:], high], strict=True):
        loaded = any(a <= start < b for a, b in loads)
        what = UNKNOWN
        if _is_filled(image, start, end):
            what = PAGE_SLACK if not loaded and start < behind and any(b <= start for _, b in loads) else SECTION_GAP
        found.append((start, what))
    return found


def _is_filled(image: Elf, low: int, high: int) -> bool:
    """Whether the bytes are all the same one that linkers fill with."""
    fill = image.data[low]
    if fill not in _FILLS:
        return False
    return all(bool((image.data[at : min(at + _CHUNK, high)] == fill).all()) for at in range(low, high, _CHUNK))
