"""Read linker maps of any linker: the sections that it placed and those that it discarded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import readable
from sizeguard.formats.describe import HEAD, describe_bytes

if TYPE_CHECKING:
    from sizeguard.formats.linkmap.link_map import InputSection, LinkMap


def read_link_map(path: Path) -> LinkMap:
    """Read a map of GNU ld, gold, lld, mold, Apple's ld or ld64.lld, known by its first lines.

    Raises InputError, with the line, for a file that is not a map or is damaged.
    """
    # Imported here, because few images come with a map. Each grammar takes 2 to 5 ms to compile.
    from sizeguard.formats.linkmap.link_map import lines_of

    _check_text(path)
    lines = lines_of(path)
    head = lines[0] if lines else ""
    if head.lstrip(" ").startswith("VMA"):
        from sizeguard.formats.linkmap import lld, mold

        if lld.HEADER.fullmatch(head):
            return lld.parse_lld(path, lines)
        if mold.HEADER.fullmatch(head):
            return mold.parse_mold(path, lines)
    if head.startswith("#"):
        from sizeguard.formats.linkmap import apple

        if head.startswith(apple.TITLE):
            return apple.parse_apple(path, lines)
    from sizeguard.formats.linkmap import gnu

    if gnu.TITLE in lines:
        return gnu.parse_gnu(path, lines)
    from sizeguard.formats.linkmap import gold

    if gold.TITLE in lines:
        return gold.parse_gold(path, lines)
    raise InputError(f"{path}: not a linker map of GNU ld, gold, lld, mold or ld64")


def _check_text(path: Path) -> None:
    """Raise InputError for a file whose first bytes are not text."""
    try:
        with readable(path).open("rb") as file:
            head, size = file.read(HEAD), file.seek(0, 2)
    except OSError as error:
        raise cannot_read(path, error) from error
    if b"\0" in head:
        raise InputError(f"{path}: not a linker map: {describe_bytes(head, size)} (see --map)")


def read_map(path: Path) -> tuple[InputSection, ...]:
    """Read only the placed input sections, in the map's order."""
    return read_link_map(path).placed
