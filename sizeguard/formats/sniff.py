"""Recognize a file's format by its first bytes."""

from __future__ import annotations

from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable

ELF, MACHO, ARCHIVE, BITCODE, PE, WASM, UNKNOWN = (
    "elf",
    "macho",
    "archive",
    "bitcode",
    "pe",
    "wasm",
    "unknown",
)

_MAGICS = (
    (b"\x7fELF", ELF),
    (b"!<arch>\n", ARCHIVE),
    (b"!<thin>\n", ARCHIVE),
    (b"BC\xc0\xde", BITCODE),
    (b"\xde\xc0\x17\x0b", BITCODE),
    (b"MZ", PE),
    (b"\0asm", WASM),
)


# Mach-O: magic as the file has it -> (byte order, 64-bit)
MACHO_MAGICS = {
    b"\xce\xfa\xed\xfe": ("<", False),
    b"\xcf\xfa\xed\xfe": ("<", True),
    b"\xfe\xed\xfa\xce": (">", False),
    b"\xfe\xed\xfa\xcf": (">", True),
}
# Java class files have the magic of universal binaries, too; the next number is their version, from
# 45 on. No linker writes as many slices.
MOST_SLICES = 30


def image_format(path: Path) -> str:
    """Return elf, macho, archive, bitcode, pe, wasm or unknown.

    macho includes universal binaries, archive thin ones.

    Raises InputError if the file cannot be read.
    """
    try:
        with readable(path).open("rb") as file:
            magic = file.read(8)
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    return format_of(magic)


def format_of(magic: bytes) -> str:
    """Return the format, as image_format does, for the first eight bytes."""
    if is_macho(magic):
        return MACHO
    return next((name for start, name in _MAGICS if magic.startswith(start)), UNKNOWN)


def is_macho(magic: bytes) -> bool:
    """Check for the first eight bytes of a Mach-O file or universal binary."""
    return magic[:4] in MACHO_MAGICS or is_fat(magic)


def is_fat(magic: bytes) -> bool:
    """Check for the first eight bytes of a universal binary."""
    return (
        len(magic) >= 8
        and magic[:4] in (b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")
        and 0 < int.from_bytes(magic[4:8], "big") <= MOST_SLICES
    )
