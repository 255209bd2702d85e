"""Use of a memory region by an image."""

from __future__ import annotations

from collections.abc import Iterable

from sizeguard.base.dataclass import dataclass

SEVERAL_REGIONS = "(several regions)"  # if sections of one name are in different regions


@dataclass(frozen=True, slots=True)
class RegionUse:
    """Bytes of a region that an image uses.

    origin:   first address of the region
    length:   bytes of the region; 0 if it has no end
    used:     bytes of sections that are stored or run there, each once, with padding for alignment
    stored:   bytes with a load address there, which are written into the memory
    run:      bytes with a run-time address there
    sections: names of the sections that the level `region` counts here; the load address decides,
        for sections of zeros the run-time address
    """

    name: str
    origin: int
    length: int
    used: int
    stored: int
    run: int
    sections: tuple[str, ...]


def region_by_section(regions: Iterable[RegionUse]) -> dict[str, str]:
    """Map the name of each section to its region."""
    found: dict[str, str] = {}
    for region in regions:
        for section in region.sections:
            found[section] = SEVERAL_REGIONS if section in found else region.name
    return found
