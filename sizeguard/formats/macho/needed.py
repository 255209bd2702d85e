"""Names that dyld reads from a Mach-O image: libraries and their search paths."""

from __future__ import annotations

import struct

from sizeguard.formats.elf.needed import SEARCH_PATH
from sizeguard.formats.macho.constants import LC_ID_DYLIB
from sizeguard.formats.macho.image import LoadCommand, MachO


def needed_dylibs(image: MachO) -> tuple[str, ...]:
    """List the install names of an image's libraries, and its search paths, sorted."""
    paths = {SEARCH_PATH + _path(image, c) for c in image.commands if c.name == "LC_RPATH"}
    return tuple(sorted({*image.dylibs, *paths}))


def install_name(image: MachO) -> str:
    """Return the path by which images need a library (LC_ID_DYLIB); empty if it has none."""
    found = (_path(image, c) for c in image.commands if c.number == LC_ID_DYLIB)
    return next(found, "")


def _path(image: MachO, command: LoadCommand) -> str:
    """Return the path of a command; empty if it is damaged."""
    content = image.data[command.offset : command.offset + command.size].tobytes()
    if len(content) < 12:  # number, size, and where in the command the path is
        return ""
    (start,) = struct.unpack_from(f"{image.order}I", content, 8)
    return content[start:].split(b"\0")[0].decode("utf-8", "backslashreplace")
