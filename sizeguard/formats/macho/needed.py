"""Names that dyld reads from a Mach-O image: libraries and their search paths."""

from __future__ import annotations

import struct

from sizeguard.formats.elf.needed import SEARCH_PATH
from sizeguard.formats.macho.image import LoadCommand, MachO


def needed_dylibs(image: MachO) -> tuple[str, ...]:
    """List the install names of an image's libraries, and its search paths, sorted."""
    paths = {SEARCH_PATH + _path(image, c) for c in image.commands if c.name == "LC_RPATH"}
    return tuple(sorted({*image.dylibs, *paths}))


def _path(image: MachO, command: LoadCommand) -> str:
    """Return the path of an LC_RPATH command; empty if it is damaged."""
    content = image.data[command.offset : command.offset + command.size].tobytes()
    if len(content) < 12:  # number, size, and where in the command the path is
        return ""
    (start,) = struct.unpack_from(f"{image.order}I", content, 8)
    return content[start:].split(b"\0")[0].decode("utf-8", "backslashreplace")
