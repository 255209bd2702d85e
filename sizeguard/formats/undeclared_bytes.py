"""Bytes of an image that none of its headers, segments and sections declares.

Self-extracting programs keep their archives there. Linkers fill gaps with zeros, or with an
instruction of at most 4 bytes that traps; such a fill is no content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from sizeguard.base.input_files import readable
from sizeguard.columns.texts import Bytes
from sizeguard.formats.elf import Elf, read_elf
from sizeguard.formats.sniff import ELF, MACHO, image_format

_FILL = 4  # bytes of a pattern that fills a gap


def undeclared_bytes(image: Path) -> bytes:
    """Return the undeclared bytes of an ELF or Mach-O image, in the file's order."""
    format_ = image_format(image)
    if format_ == ELF:
        return b"".join(_of_elf(read_elf(image)))
    return b"".join(_of_macho(image)) if format_ == MACHO else b""


def _of_elf(elf: Elf) -> Iterator[bytes]:
    """Yield the gaps that are no fill, and all that is behind the last part."""
    parts = [(segment.offset, segment.file_size) for segment in elf.segments]
    parts += [(section.offset, section.file_size) for section in elf.sections]
    parts += [elf.header, elf.program_headers, elf.section_headers]
    return _between(elf.data, parts)


def _between(data: Bytes, parts: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """Yield what is between the parts of a file, given by offset and size, and behind the last."""
    at = 0
    for offset, size in sorted(part for part in parts if part[1]):
        if offset > at:
            gap = data[at:offset].tobytes()
            if not _is_fill(gap):
                yield gap
        at = max(at, offset + size)
    yield data[at:].tobytes()


def _is_fill(gap: bytes) -> bool:
    """Return whether a gap repeats one short pattern between zeros."""
    inner = gap.strip(b"\0")
    return inner == (inner[:_FILL] * (len(inner) // _FILL + 1))[: len(inner)]


def _of_macho(path: Path) -> Iterator[bytes]:
    """Yield what is behind the last part of each image, and behind the last image."""
    # 12 ms, which commands on ELF images save
    from sizeguard.formats.macho.reader import FatFile, read_macho_file

    file = read_macho_file(path)
    images = file.images if isinstance(file, FatFile) else (file,)
    for image in images:
        ends = [segment.offset + segment.file_size for segment in image.segments]
        ends += [extent.offset + extent.size for extent in image.linkedit]
        yield image.data[max(ends, default=image.size) : image.size].tobytes()
    if isinstance(file, FatFile):
        with readable(path).open("rb") as opened:
            opened.seek(max(part.offset + part.size for part in file.slices))
            yield opened.read()
