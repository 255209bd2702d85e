"""Recognize formats of files by their first bytes."""

from __future__ import annotations

import struct

ELF, MACHO, ARCHIVE, DEBIAN, ZIP, BITCODE, PE, COFF, WASM, UNKNOWN = (
    "elf",
    "macho",
    "archive",
    "deb",
    "zip",
    "bitcode",
    "pe",
    "coff",
    "wasm",
    "unknown",
)
SNAPSHOT = b"sizeguard snapshot\n"  # the beginning of our own files with measurements
FAT = "universal"  # also in Mach-O
FOLDER = "folder"
CONTAINERS = frozenset({ARCHIVE, DEBIAN, ZIP})
SEVERAL_IMAGES = frozenset({*CONTAINERS, FAT, FOLDER})
IMAGES = frozenset({ELF, MACHO, PE, COFF, WASM})

ELF_MAGIC = b"\x7fELF"
ARCHIVE_MAGIC, THIN_MAGIC = b"!<arch>\n", b"!<thin>\n"
BITCODE_WRAPPER = b"\xde\xc0\x17\x0b"  # Apple's, with the machine before the bitcode
BITCODE_MAGICS = (b"BC\xc0\xde", BITCODE_WRAPPER)
_MAGICS = (
    (ELF_MAGIC, ELF),
    (ARCHIVE_MAGIC + b"debian-binary", DEBIAN),
    (ARCHIVE_MAGIC, ARCHIVE),
    (THIN_MAGIC, ARCHIVE),
    *((magic, BITCODE) for magic in BITCODE_MAGICS),
    (b"MZ", PE),
    (b"\0asm", WASM),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),  # without members
)
MEMBER = "!"  # between a container and its member in a path
HEAD = 64  # bytes that identify the format

# Machines of COFF objects, which have no magic, as stored in the file.
_COFF_MACHINES = frozenset(
    (0x14C, 0x8664, 0x1C0, 0x1C2, 0x1C4, 0xAA64, 0xA641, 0xA64E, 0x5032, 0x5064, 0x6232, 0x6264)
)


# Mach-O: magic as stored in the file -> (byte order, 64-bit)
MACHO_MAGICS = {
    b"\xce\xfa\xed\xfe": ("<", False),
    b"\xcf\xfa\xed\xfe": ("<", True),
    b"\xfe\xed\xfa\xce": (">", False),
    b"\xfe\xed\xfa\xcf": (">", True),
}
# Java class files have the magic of universal binaries, too; the next number is their version, 45
# or more. Linkers never write this many slices.
MOST_SLICES = 30


def format_of(head: bytes, size: int = 0) -> str:
    """Return the format, as image_format does, for the first bytes of a file of that size."""
    if is_macho(head):
        return MACHO
    found = next((name for start, name in _MAGICS if head.startswith(start)), UNKNOWN)
    return COFF if found == UNKNOWN and is_coff(head, size) else found


def is_coff(head: bytes, size: int) -> bool:
    """Check for a COFF object: the numbers in its header must fit the file."""
    if head[:4] == b"\0\0\xff\xff":
        return len(head) >= 20
    if len(head) < 20:
        return False
    machine, sections, _, symbols, count, optional, flags = struct.unpack_from("<HHIIIHH", head)
    end = 20 + 40 * sections
    return (
        machine in _COFF_MACHINES
        and not optional
        and not flags & ~0x71FF
        and 0 < sections < 0xFF00
        and end <= size
        and (symbols == 0 or symbols >= end)
        and symbols + 18 * count <= size
    )


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
