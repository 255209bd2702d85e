"""Measure the four sizes that a build is judged by."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable
from sizeguard.builds.sizes import Sizes
from sizeguard.formats.elf import PT_LOAD, Elf, read_elf
from sizeguard.formats.elf.common_symbols import with_common
from sizeguard.formats.sniff import COFF, CONTAINERS, ELF, MACHO, PE, WASM, image_format

if TYPE_CHECKING:
    from sizeguard.formats.macho.image import MachO

_MACHO_PAGE = 16 << 10
_PE_ALIGNMENT = 512  # bytes to which sections in the file are aligned
_LARGEST_PAGE = 64 << 10  # the largest page size of linkers for aarch64
_PAGES = {"x86_64": 4 << 10, "i386": 4 << 10}


def measure(shipped: Path) -> Sizes:
    """Measure a stripped image.

    Images of containers and universal binaries are summed, as the rows of a report are, so that no
    image grows unseen behind a larger one.
    """
    format_ = image_format(shipped)
    if format_ == MACHO:
        images = _macho_images(shipped)
        return Sizes(
            load=sum(macho.load for macho in images),
            ram=sum(macho.ram for macho in images),
            file=readable(shipped).stat().st_size,
            page_slack=sum(_segment_slack(macho) for macho in images),
        )
    if format_ in (PE, COFF, WASM):
        from sizeguard.formats.read_sectioned import read_sectioned

        image = read_sectioned(shipped, format_)
        return Sizes(load=image.load, ram=image.ram, file=image.size, page_slack=image.slack)
    if format_ in CONTAINERS:
        return _measure_members(shipped)
    elf = with_common(read_elf(shipped))
    return Sizes(load=elf.load, ram=elf.ram, file=elf.size, page_slack=_page_slack(elf))


def refuse_debug_file(image: Path) -> None:
    """Raise InputError for the debug file of an ELF image, which loads nothing.

    Any limit would hold on it.
    """
    if image_format(image) == ELF and read_elf(image).is_debug_file:
        raise InputError(f"{image}: a debug file, without the code of its image; name the image")


def _macho_images(path: Path) -> tuple[MachO, ...]:
    """Read a Mach-O image, or all images of a universal binary."""
    # 12 ms, which commands on ELF images save
    from sizeguard.formats.macho.reader import FatFile, read_macho_file

    file = read_macho_file(path)
    return file.images if isinstance(file, FatFile) else (file,)


def _measure_members(path: Path) -> Sizes:
    """Sum the images of a container; `file` is the size of the container.

    Raises InputError if an image in it cannot be read.
    """
    from sizeguard.formats.containers.member_files import unpacked_images

    sizes = [measure(member) for member in unpacked_images(path)]
    return Sizes(
        load=sum(each.load for each in sizes),
        ram=sum(each.ram for each in sizes),
        file=readable(path).stat().st_size,
        page_slack=0,
    )


def segment_bytes(image: Path) -> int:
    """Sum the bytes of the file that an ELF image's segments load; 0 for other formats."""
    if image_format(image) != ELF:
        return 0
    return sum(segment.file_size for segment in read_elf(image).segments if segment.type == PT_LOAD)


def segment_pages(shipped: Path) -> int:
    """Sum one page for each segment with bytes in the file, the most that rounding can add to it.

    Linkers for the machine align segments to this page size. The image's own alignment does not
    count, since a change could raise it without limit.
    """
    format_ = image_format(shipped)
    if format_ == MACHO:
        segments = (segment for macho in _macho_images(shipped) for segment in macho.segments)
        return _MACHO_PAGE * sum(segment.file_size > 0 for segment in segments)
    if format_ in (PE, COFF, WASM):
        from sizeguard.formats.read_sectioned import read_sectioned

        parts = read_sectioned(shipped, format_).parts
        return _PE_ALIGNMENT * sum(part.load > 0 for part in parts) if format_ == PE else 0
    if format_ in CONTAINERS:
        from sizeguard.formats.containers.member_files import unpacked_images

        return sum(segment_pages(member) for member in unpacked_images(shipped))
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
    """Sum the bytes after the last section of each Mach-O segment, which is whole pages."""
    slack = 0
    for segment in macho.segments:
        sections = [macho.sections[i] for i in segment.sections if macho.sections[i].file_size]
        if sections:
            slack += (
                segment.offset + segment.file_size - max(s.offset + s.file_size for s in sections)
            )
    return slack
