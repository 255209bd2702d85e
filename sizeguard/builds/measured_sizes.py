"""Measure the four sizes that a build is judged by."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.builds.sizes import Sizes
from sizeguard.formats.elf import PT_LOAD, Elf, read_elf
from sizeguard.formats.sniff import MACHO, image_format

if TYPE_CHECKING:
    from sizeguard.formats.macho.image import MachO

_MACHO_PAGE = 16 << 10
_LARGEST_PAGE = 64 << 10  # of aarch64's linkers, the largest that is usual
_PAGES = {"x86_64": 4 << 10, "i386": 4 << 10}


def measure(shipped: Path) -> Sizes:
    """Measure a stripped image."""
    if image_format(shipped) == MACHO:
        # 12 ms, which reports of ELF images need not wait for: they read records of builds.
        from sizeguard.formats.macho.reader import read_macho

        macho = read_macho(shipped)
        return Sizes(
            load=macho.load, ram=macho.ram, file=macho.size, page_slack=_segment_slack(macho)
        )
    elf = read_elf(shipped)
    return Sizes(load=elf.load, ram=elf.ram, file=elf.size, page_slack=_page_slack(elf))


def segment_pages(shipped: Path) -> int:
    """Sum a page for each segment with bytes in the file: what rounding can add to the file.

    The page is what the machine's linkers align segments to. What the image itself is aligned to
    does not count: a change could leave any room by it.
    """
    if image_format(shipped) == MACHO:
        from sizeguard.formats.macho.reader import read_macho

        macho = read_macho(shipped)
        return _MACHO_PAGE * sum(segment.file_size > 0 for segment in macho.segments)
    elf = read_elf(shipped)
    page = _PAGES.get(elf.machine, _LARGEST_PAGE)
    return page * sum(s.type == PT_LOAD and s.file_size > 0 for s in elf.segments)


def _page_slack(elf: Elf) -> int:
    """Sum the gaps between ELF segments."""
    ranges = sorted(
        (s.offset, s.offset + s.file_size)
        for s in elf.segments
        if s.type == PT_LOAD and s.file_size
    )
    return sum(max(0, after[0] - before[1]) for before, after in itertools.pairwise(ranges))


def _segment_slack(macho: MachO) -> int:
    """Sum the bytes behind the last section of each Mach-O segment: segments are whole pages."""
    slack = 0
    for segment in macho.segments:
        sections = [macho.sections[i] for i in segment.sections if macho.sections[i].file_size]
        if sections:
            slack += (
                segment.offset + segment.file_size - max(s.offset + s.file_size for s in sections)
            )
    return slack
