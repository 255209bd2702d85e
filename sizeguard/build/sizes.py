"""Turns an ELF image into the four numbers that a build is judged by."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from sizeguard.formats.elf import PT_LOAD, Elf


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes.

    load:       all ALLOC sections but NOBITS
    ram:        writable ALLOC sections with NOBITS, less .relro_padding
    file:       the stripped file
    page_slack: what the loaded bytes can grow before the file does: the gaps that the linker leaves between segments
    """

    load: int
    ram: int
    file: int
    page_slack: int


def measure(shipped: Elf) -> Sizes:
    """The sizes of a stripped image."""
    return Sizes(load=shipped.load, ram=shipped.ram, file=shipped.size, page_slack=_page_slack(shipped))


def _page_slack(elf: Elf) -> int:
    ranges = sorted((s.offset, s.offset + s.file_size) for s in elf.segments if s.type == PT_LOAD and s.file_size)
    return sum(max(0, after[0] - before[1]) for before, after in itertools.pairwise(ranges))
