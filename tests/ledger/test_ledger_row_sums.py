"""Bytes and spans of the rows of ELF images, over drawn sections, against loops over bytes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.columns.sums import WHAT
from sizeguard.formats.elf import PF_R, PF_X, PT_LOAD
from sizeguard.ledger.elf import regions
from sizeguard.ledger.elf.owner_sums import RowSums
from sizeguard.ledger.elf.owner_table import Line, Places
from sizeguard.ledger.elf.regions import (
    HEADERS,
    MEMORY_GAP,
    PAGE_SLACK,
    SECTION_GAP,
    UNKNOWN,
    Extra,
    FirstRanges,
    Region,
    Segments,
    file_partition,
    file_regions,
    memory_partition,
    memory_regions,
)
from sizeguard.ledger.ledger import NONE

HEADER, BASE = 16, 0x1000  # bytes of the ELF header; address of the file's first byte
SHIFT = 0x4000  # between the second segment's place in the file and in memory, besides BASE
FILLS = (0x00, 0x90, 0xCC)  # of linkers


def section_of(index: int, place: tuple[int, int], size: int, **flags: bool) -> Any:
    """Return a section. place: offset and address; one that is not loaded is in the file only."""
    offset, address = place
    nobits, loaded = flags.get("nobits", False), flags.get("loaded", True)
    return SimpleNamespace(
        index=index, offset=offset, size=size, address=address if loaded else 0,
        file_size=0 if nobits else size, is_nobits=nobits, is_allocated=loaded,
        is_thread_local=flags.get("thread_local", False),
        load_size=size if loaded and not nobits else 0, ram_size=size if loaded else 0,
    )  # fmt: skip


@dataclass
class Drawn:
    """An image whose sections are cut into rows."""

    image: Any
    places: Places
    segments: Segments
    extra: Extra

    def __post_init__(self) -> None:
        self.regions = file_regions(self.image, self.segments, self.extra)
        self.file = file_partition(self.regions, self.image, self.places)
        memory = memory_regions(self.image, self.segments, self.extra)
        self.memory = memory_partition(memory, self.image, self.places, self.file)
        self.rows = self.extra.first + len(self.extra.what)
        self.sums = RowSums(self.image, self.places, self.regions, self.rows)

    def row_at(self, section: Any, offset: int) -> int:
        """Return the row of a byte of a section, by looking at each row."""
        low, high = self.places.rows_of[section.index]
        place = int(self.places.line.at[section.index]) + offset
        return max(row for row in range(low, high) if self.places.start[row] <= place)

    def owners_of_file(self) -> list[int]:
        """Return the row of each byte; -1 outside of sections and headers, -2 in the header."""
        owners = []
        for offset in range(self.image.size):
            claims = [
                section
                for section in self.image.sections
                if section.file_size and section.offset <= offset < section.offset + section.size
            ]
            smallest = min(claims, key=lambda each: (each.size, each.index), default=None)
            if offset < HEADER:
                owners.append(-2)
            elif smallest is None:
                owners.append(-1)
            else:
                owners.append(self.row_at(smallest, offset - smallest.offset))
        return owners


def loads_of(*edges: tuple[int, int, int]) -> list[Any]:
    """Return segments: offset, end in the file and bytes of zeros; and one without bytes."""
    loads = [
        SimpleNamespace(
            type=PT_LOAD, offset=low, address=BASE + low + (SHIFT if i else 0),
            file_size=high - low, memory_size=high - low + zeros, flags=PF_R | PF_X,
        )
        for i, (low, high, zeros) in enumerate(edges)
    ]  # fmt: skip
    empty = SimpleNamespace(type=PT_LOAD, offset=0, address=0, file_size=0, memory_size=0, flags=0)
    return [*reversed(loads), empty]


def drawn(seed: int, *, nested: bool) -> Drawn:
    """Draw sections of two segments, the first of which has the header, and cut them into rows."""
    draw = random.Random(seed)
    sections = [section_of(0, (0, 0), 0, nobits=True, loaded=False)]
    at, address = draw.choice([HEADER, HEADER, 8]), BASE
    split = 0
    for _ in range(draw.randint(1, 5)):
        at += draw.choice([0, 0, 5])
        if not split and at > HEADER and draw.random() < 0.3:
            ended, at = at, at + draw.choice([0, 6])
            split, address = at, BASE + SHIFT
        size, loaded = draw.randint(1, 24), draw.random() < 0.7
        place = at, address + at
        sections.append(section_of(len(sections), place, size, loaded=loaded))
        if nested and size > 3:
            low = draw.randint(0, size - 2)
            place = at + low, address + at + low
            inner = draw.randint(1, size - 1 - low)
            sections.append(section_of(len(sections), place, inner, loaded=loaded))
        at += size
    end = max(at, HEADER) + draw.choice([0, 7])
    zeros = 0
    for _ in range(draw.randint(0, 2)):
        zeros += draw.choice([0, 3])
        place, size = (end, address + end + zeros), draw.randint(1, 9)
        sections.append(section_of(len(sections), place, size, nobits=True))
        # Zeros of threads have no place of their own
        more = {"nobits": True, "thread_local": True}
        sections.append(section_of(len(sections), place, 4, **more))
        zeros += size
    starts, rows_of = [], {}
    sizes = np.array([section.size for section in sections], np.int64)
    line = Line(np.cumsum(sizes) - sizes, sizes, np.array([s.address for s in sections]))
    for section in draw.sample(sections, len(sections)):
        cuts = {0, *draw.choices(range(section.size), k=3)} if section.size else set()
        first = len(starts)
        starts += [int(line.at[section.index]) + cut for cut in sorted(cuts)]
        rows_of[section.index] = first, len(starts)
    edges = [(0, ended, 0), (split, end, zeros)] if split else [(0, end, zeros)]
    size = end + draw.choice([0, 6])  # no segment loads the last bytes
    values = draw.choices([*FILLS, 7], k=9)
    content = [draw.choice(values[:2]) if draw.random() < 0.1 else values[i // 16] for i in
               range(size)]  # fmt: skip
    image: Any = SimpleNamespace(
        sections=sections, segments=loads_of(*edges), size=size, is_relocatable=False,
        header=(0, HEADER), program_headers=(0, 0), section_headers=(0, 0),
        data=np.array(content, np.uint8),
    )  # fmt: skip
    places = Places(line, np.array(starts, np.int64), rows_of)
    return Drawn(image, places, Segments.of(image), Extra(len(starts)))


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_each_byte_counts_for_its_row(seed: int, nested: bool) -> None:
    made = drawn(seed, nested=nested)
    wanted = made.owners_of_file()
    owner = np.repeat(made.file.owner, np.diff(made.file.start, append=made.file.size)).tolist()
    for found, row in zip(owner, wanted, strict=True):
        if row >= 0:
            assert found == row
        else:
            kinds = (HEADERS,) if row == -2 else (SECTION_GAP, PAGE_SLACK, UNKNOWN)
            assert made.extra.what[found - made.extra.first] in kinds
    file = made.sums.column("file")
    assert file.tolist() == [owner.count(row) for row in range(made.rows)]
    runs = [row for i, row in enumerate(owner) if not i or owner[i - 1] != row]
    spans = [max(1, runs.count(row)) for row in range(made.rows)]
    assert made.sums.column("count").tolist() == spans
    for what in ("load", "ram"):
        column = made.sums.column(what)
        for section in made.image.sections:
            low, high = made.places.rows_of.get(section.index, (0, 0))
            size = section.load_size if what == "load" else section.ram_size
            assert int(column[low:high].sum()) == size
            assert column[low:high].tolist() in (
                [0] * (high - low), made.places.sizes(section.index).tolist() if size else [],
            )  # fmt: skip
        assert not column[made.extra.first :].any()


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_sums_of_some_rows_are_those_of_all(seed: int, nested: bool) -> None:
    made = drawn(seed, nested=nested)
    draw = random.Random(seed)
    some = np.array(draw.sample(range(made.rows), draw.randint(0, made.rows)), np.int64)
    ids = np.array([draw.randrange(3) for _ in range(made.rows)], np.int64)
    sums = made.sums.by(ids, 4)
    for what, found in zip(WHAT, sums, strict=True):
        column = made.sums.column(what)
        assert made.sums.at(what, some).tolist() == column[some].tolist()
        assert found.tolist() == [int(column[ids == i].sum()) for i in range(4)]
        more = made.sums.column(what, 2)
        assert more.tolist() == [*column.tolist(), 0, 0]


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_memory_has_the_files_bytes_then_zeros(seed: int, nested: bool) -> None:
    made = drawn(seed, nested=nested)
    file = np.repeat(made.file.owner, np.diff(made.file.start, append=made.file.size)).tolist()
    owners: dict[int, int] = {}
    columns = (made.memory.address, made.memory.size, made.memory.owner)
    for address, size, row in zip(*(column.tolist() for column in columns), strict=True):
        assert size > 0
        owners |= dict.fromkeys(range(address, address + size), row)
    assert int(made.memory.size.sum()) == len(owners)
    assert len(owners) == sum(load.memory_size for load in made.segments.loads)
    for number, load in enumerate(made.segments.loads):
        for place in range(load.memory_size):
            address, row = load.address + place, owners[load.address + place]
            zeros = [
                section
                for section in made.image.sections
                if section.is_nobits and not section.is_thread_local
                and section.address <= address < section.address + section.size
            ]  # fmt: skip
            if place < load.file_size:
                assert row == file[load.offset + place]
            elif zeros:
                assert row == made.row_at(zeros[0], address - zeros[0].address)
            else:
                assert made.extra.what[row - made.extra.first] == MEMORY_GAP
                assert made.extra.segment[row - made.extra.first] == number


@pytest.mark.parametrize("seed", range(80))
def test_gaps_are_told_by_their_bytes_and_their_place(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Bytes of one usual value align what follows; between segments they align pages."""
    monkeypatch.setattr(regions, "_CHUNK", 4)
    made = drawn(seed, nested=False)
    loads = [(each.offset, each.offset + each.file_size) for each in made.segments.loads]
    for region in made.regions:
        if region.row < 0:
            continue
        what = made.extra.what[region.row - made.extra.first]
        inside = [i for i, (low, high) in enumerate(loads) if low <= region.start < high]
        assert made.extra.segment[region.row - made.extra.first] == [*inside, len(loads)][0]
        assert all(not region.start < edge < region.end for load in loads for edge in load)
        values = set(made.image.data[region.start : region.end].tolist())
        is_between = not inside and any(low > region.start for low, _ in loads)
        if region.end <= HEADER:
            assert what == HEADERS
        elif len(values) > 1 or not values & {*FILLS}:
            assert what == UNKNOWN
        else:
            assert what == (PAGE_SLACK if is_between else SECTION_GAP)


def test_segments_of_equal_rights_are_numbered() -> None:
    image: Any = SimpleNamespace(segments=loads_of((0, 16, 0), (16, 32, 4), (32, 33, 0)))
    image.segments[0].flags = PF_R
    segments = Segments.of(image)
    assert [load.offset for load in segments.loads] == [0, 16, 32]
    assert segments.names == ("LOAD r-x", "LOAD r-x #2", "LOAD r--", "(not loaded)")


@pytest.mark.parametrize("is_relocatable", [True, False])
def test_a_section_is_in_the_segment_of_its_address(is_relocatable: bool) -> None:
    sections = [
        SimpleNamespace(address=address, is_allocated=is_allocated)
        for address, is_allocated in (
            (BASE, True), (BASE + 15, True), (BASE + 16, True), (BASE - 1, True),
            (BASE + SHIFT + 16, True), (BASE + SHIFT + 35, True), (BASE + SHIFT + 36, True),
            (BASE, False),
        )
    ]  # fmt: skip
    image: Any = SimpleNamespace(
        segments=loads_of((0, 16, 0), (16, 32, 4)), sections=sections, is_relocatable=is_relocatable
    )
    found = Segments.of(image).of_sections(image).tolist()
    assert found == ([2] * 8 if is_relocatable else [0, 0, 2, 2, 1, 1, 2, 2])


def test_the_first_of_overlapping_segments_has_the_memory() -> None:
    """Segments of files that are not valid overlap; zeros at an edge are the later one's."""
    edges = ((0, 32, 8), (32, 48, 0), (48, 48, 4))
    image: Any = SimpleNamespace(segments=loads_of(*edges), is_relocatable=False)
    for load, address in zip(image.segments, (60, 20, 0), strict=False):
        load.address = address
    # Memory [0, 40), [20, 36) inside of it, and [60, 64) without bytes of the file
    place = (48, 40)
    image.sections = [section_of(0, place, 8, nobits=True), section_of(1, (48, 62), 4, nobits=True)]
    segments, extra = Segments.of(image), Extra(10)
    found = memory_regions(image, segments, extra)
    assert found == [
        Region(0, 32, offset=0),
        Region(32, 40, row=10),
        Region(60, 62, row=11),
        Region(62, 64, section=1),
    ]
    assert (extra.what, extra.segment) == ([MEMORY_GAP] * 2, [0, 2])


def test_a_file_without_sections_has_rows_of_headers_and_gaps() -> None:
    image: Any = SimpleNamespace(
        sections=[], segments=loads_of((0, 24, 8)), size=30, is_relocatable=False,
        header=(0, HEADER), program_headers=(16, 4), section_headers=(0, 0),
        data=np.zeros(30, np.uint8),
    )  # fmt: skip
    nothing = np.zeros(0, np.int64)
    made = Drawn(image, Places(Line(nothing, nothing, nothing), nothing, {}), Segments.of(image),
                 Extra(0))  # fmt: skip
    assert made.extra.what == [HEADERS, HEADERS, SECTION_GAP, SECTION_GAP, MEMORY_GAP]
    assert made.sums.column("file").tolist() == [16, 4, 4, 6, 0]
    assert made.sums.at("file", np.arange(5)).tolist() == [16, 4, 4, 6, 0]
    assert made.sums.by(np.zeros(5, np.int64), 1).file.tolist() == [30]
    assert (made.memory.owner.tolist(), made.memory.size.tolist()) == ([0, 1, 2, 4], [16, 4, 4, 8])


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted)))
def test_the_first_range_over_a_place_is_found(ranges: list[list[int]]) -> None:
    found = FirstRanges.of([(start, end) for start, end in ranges]).at(np.arange(-2, 24))
    assert found.tolist() == [
        next((i for i, (start, end) in enumerate(ranges) if start <= place < end), NONE)
        for place in range(-2, 24)
    ]


def test_many_segments_take_no_longer_for_each() -> None:
    """A file of 50 KB with 10,000 segments took 46 s, one with 65,535 half an hour."""
    count = 60_000
    image: Any = SimpleNamespace(segments=loads_of(*((i, i + 1, 0) for i in range(count))))
    segments = Segments.of(image)
    assert segments.names[-2] == f"LOAD r-x #{count}"
    places = [load.address for load in segments.loads]
    image.sections = [SimpleNamespace(address=at, is_allocated=True) for at in places]
    image.is_relocatable = False
    assert segments.of_sections(image).tolist() == list(range(count))
