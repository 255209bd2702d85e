"""Turns the first bytes of a file into the name of its format."""

from __future__ import annotations

from pathlib import Path

from sizeguard.errors import InputError
from sizeguard.formats.macho.reader import is_macho

ELF, MACHO, ARCHIVE, BITCODE, PE, WASM, UNKNOWN = "elf", "macho", "archive", "bitcode", "pe", "wasm", "unknown"

_MAGICS = (
    (b"\x7fELF", ELF),
    (b"!<arch>\n", ARCHIVE),
    (b"!<thin>\n", ARCHIVE),
    (b"BC\xc0\xde", BITCODE),
    (b"\xde\xc0\x17\x0b", BITCODE),
    (b"MZ", PE),
    (b"\0asm", WASM),
)


def image_format(path: Path) -> str:
    """elf, macho (thin or fat), archive (thin ones, too), bitcode, pe, wasm or unknown. Raises InputError if it cannot be read."""
    try:
        with path.open("rb") as file:
            magic = file.read(8)
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    return format_of(magic)


def format_of(magic: bytes) -> str:
    """The same for the first eight bytes."""
    if is_macho(magic):
        return MACHO
    return next((name for start, name in _MAGICS if magic.startswith(start)), UNKNOWN)
