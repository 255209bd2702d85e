"""Measure how an ELF image uses memory regions: where sections are stored and where they run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sizeguard.formats.elf import PT_LOAD, Elf
from sizeguard.formats.elf.image import Section
from sizeguard.formats.linkmap.memory_region import MemoryRegion
from sizeguard.ledger.region_use import RegionUse

_Extent = tuple[int, int, int]  # first address, end, alignment


def region_uses(elf: Elf, regions: Sequence[MemoryRegion]) -> tuple[RegionUse, ...]:
    """Measure the bytes that an image takes in each region.

    A section is in the smallest region that contains its first address. Initialized data is stored
    in one region and runs in another, so both count it.
    """
    extents: dict[str, list[_Extent]] = {region.name: [] for region in regions}
    stored = dict.fromkeys(extents, 0)
    run = dict.fromkeys(extents, 0)
    sections: dict[str, list[str]] = {region.name: [] for region in regions}
    for section in elf.sections:
        if not section.is_allocated or not section.size:
            continue
        if section.is_nobits and section.is_thread_local:
            continue  # it takes no memory of its own
        running = _region_at(regions, section.address)
        loaded = section.address if section.is_nobits else _load_address(elf, section)
        holding = _region_at(regions, loaded)
        for region, address in ((running, section.address), (holding, loaded)):
            if region is not None:
                extent = (address, address + section.size, section.alignment)
                extents[region.name].append(extent)
        if running is not None:
            run[running.name] += section.size
        if holding is not None:
            stored[holding.name] += section.load_size
            sections[holding.name].append(section.name)
    return tuple(
        RegionUse(
            region.name,
            region.origin,
            region.length if region.is_bounded else 0,
            _taken(region.origin, extents[region.name]),
            stored[region.name],
            run[region.name],
            tuple(dict.fromkeys(sections[region.name])),
        )
        for region in regions
    )


def _region_at(regions: Iterable[MemoryRegion], address: int) -> MemoryRegion | None:
    around = [each for each in regions if each.origin <= address < each.origin + each.length]
    return min(around, key=lambda region: region.length, default=None)


def _load_address(elf: Elf, section: Section) -> int:
    """Return the address where the bytes of a section are stored before it runs."""
    for segment in elf.segments:
        offset = section.offset - segment.offset
        is_inside = offset >= 0 and offset + section.size <= segment.file_size
        if segment.type == PT_LOAD and is_inside and segment.address + offset == section.address:
            return segment.physical + offset
    return section.address


def _taken(origin: int, extents: Iterable[_Extent]) -> int:
    """Count bytes once, including gaps that are due to alignment."""
    taken, end = 0, origin
    for first, last, alignment in sorted(set(extents)):
        gap = first - end
        if 0 < gap < alignment:
            taken += gap
        taken += max(0, last - max(first, end))
        end = max(end, last)
    return taken
