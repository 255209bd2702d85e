"""Turns a linker map into the input sections that an image is made of."""

from __future__ import annotations

from pathlib import Path

from sizeguard.errors import InputError
from sizeguard.formats.linkmap.gnu import parse_gnu
from sizeguard.formats.linkmap.lld import parse_lld
from sizeguard.formats.linkmap.row import InputSection


def read_map(path: Path) -> tuple[InputSection, ...]:
    """The placed input sections, in the map's order. Raises InputError for a file that is no map of GNU ld or lld."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    if "\nLinker script and memory map\n" in text:
        return tuple(parse_gnu(text))
    if text.lstrip().startswith("VMA "):
        return tuple(parse_lld(text))
    raise InputError(f"{path}: not a linker map of GNU ld or lld")
