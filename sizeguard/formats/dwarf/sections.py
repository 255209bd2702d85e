"""Read an image's debug information sections, decompressed."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.formats.elf import Elf, Section, debug_name
from sizeguard.formats.elf.image import OLD_DEBUG
from sizeguard.formats.elf.layout import SHF_COMPRESSED

if TYPE_CHECKING:
    from sizeguard.formats.macho import MachO

ZLIB, ZSTD = 1, 2

# Limits on decompressed sections; real ones grow two to six times.
MOST_TIMES, MOST_MORE = 30, 128 << 20

_WANTED = frozenset(
    {"info", "abbrev", "str", "line_str", "str_offsets", "addr", "ranges", "rnglists"},
)
# Mach-O cuts section names at 16 characters.
_CUT = {"str_offs": "str_offsets"}
NO_DSYM = "no debug information: it is in the objects; make a dSYM next to it with dsymutil"


def elf_sections(elf: Elf, *more: str) -> dict[str, bytes]:
    """Return the content of each .debug_NAME by NAME, also of the names in `more`.

    Raises InputError for damaged sections, InconclusiveError if there is no .debug_info.
    """
    found: dict[str, bytes] = {}
    for section in elf.sections:
        name = debug_name(section.name).removeprefix(".debug_")
        wanted = name in _WANTED or name in more
        if name == section.name or not wanted or section.is_nobits or name in found:
            continue
        found[name] = unpacked(elf, section)
    if not found.get("info"):
        raise InconclusiveError(
            f"{elf.path}: no debug information: build with -g, or name the debug file"
        )
    return found


def unpacked(elf: Elf, section: Section) -> bytes:
    """Return a section's content, decompressed. Raises InputError for a damaged one."""
    content = elf.content(section)
    if section.flags & SHF_COMPRESSED:
        layout = struct.Struct(elf.layout.order + ("I4xQ8x" if elf.layout.is_64 else "II4x"))
        if len(content) < layout.size:
            raise damaged(elf.path, f"{section.name} is cut")
        kind, size = layout.unpack_from(content)
        return _unpack(elf.path, section.name, kind, size, content[layout.size :])
    if section.name.startswith(OLD_DEBUG) and content[:4] == b"ZLIB":
        size = int.from_bytes(content[4:12], "big")
        return _unpack(elf.path, section.name, ZLIB, size, content[12:])
    return content


def macho_sections(image: MachO) -> dict[str, bytes]:
    """Return the sections of a dSYM, as elf_sections does."""
    found = {}
    for section in image.sections:
        name = section.name.removeprefix("__debug_")
        if section.segment_name == "__DWARF" and name != section.name:
            found[_CUT.get(name, name)] = image.data[
                section.offset : section.offset + section.file_size
            ].tobytes()
    if not found.get("info"):
        raise InconclusiveError(f"{image.path}: {NO_DSYM}")
    return found


def _unpack(path: Path, name: str, kind: int, size: int, content: bytes) -> bytes:
    """Decompress a section that states its size."""
    if size > MOST_TIMES * len(content) + MOST_MORE:
        raise damaged(path, f"{name} states {size} bytes in {len(content)}")
    if kind not in (ZLIB, ZSTD):
        raise damaged(path, f"{name} is compressed by the unknown method {kind}")
    try:
        data = (_zlib if kind == ZLIB else _zstd)(content, size) if size else b""
    except ValueError as error:
        raise damaged(path, f"{name}: {error}") from error
    if len(data) != size:
        raise damaged(path, f"{name} states {size} bytes but has {len(data)}")
    return data


def _zlib(content: bytes, size: int) -> bytes:
    """Decompress; raises ValueError for damaged bytes."""
    try:
        return zlib.decompressobj().decompress(content, size)
    except zlib.error as error:
        raise ValueError(str(error)) from error


def _zstd(content: bytes, size: int) -> bytes:
    """Decompress; raises ValueError for damaged bytes."""
    # Imported here, since it takes 3 ms and few images need it.
    import zstandard

    try:
        with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(content) as reader:
            return reader.read(size)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


def damaged(path: Path, what: str) -> InputError:
    """Make the error for damaged debug information."""
    return InputError(f"{path}: damaged debug information: {what}")
