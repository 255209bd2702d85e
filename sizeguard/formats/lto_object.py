"""Read what an object says of itself that link-time optimization has still to compile.

gcc keeps one section for each function. clang writes LLVM bitcode with a symbol table:
llvm.org/docs/BitCodeFormat.html, and llvm/Object/IRSymtab.h for the table.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sizeguard.formats.elf import parse_elf
from sizeguard.formats.magics import BITCODE_MAGICS, BITCODE_WRAPPER

# gcc keeps the body of each function in a section: .gnu.lto_NAME.NUMBER.HASH
_BODY = re.compile(r"\.gnu\.lto_([^.].*?)(?:\.\d+)?\.[0-9a-f]+")
_DEBUG_OF_GCC = ".gnu.debuglto_"  # prefix of sections
_DEBUG_OF_LLVM = b"Debug Info Version"  # a flag of each module that has debug information

_ENTER_BLOCK, _DEFINE_ABBREVIATION, _FIRST_ABBREVIATION = 1, 2, 4
_STRINGS_BLOCK, _SYMBOLS_BLOCK = 23, 25
# A block with one blob: an abbreviation with a literal and a blob, and the record that uses it.
_ABBREVIATION_BITS = 5 + (1 + 8) + (1 + 3)
_SYMBOLS_AT = 7 * 4  # offset of the range of symbols in irsymtab::storage::Header
_SYMBOL = struct.Struct("<6I")  # name (offset, size), IR name (offset, size), COMDAT, flags
_AS_IT_IS = "\1"  # before a name from an asm label
_UNDEFINED, _EXECUTABLE = 1 << 3, 1 << 13  # irsymtab::storage::Symbol::FlagBits


class _Block(NamedTuple):
    """A block of a bitstream. width: bits of an abbreviation's number in it."""

    kind: int
    width: int
    content: bytes


def functions_of(data: bytes) -> frozenset[str]:
    """List the functions that an LTO object defines, local ones too; gcc's variables as well.

    Names are the compiler's, without the underscore of Mach-O. Bitcode without a symbol table, or
    with one that cannot be read, has none.

    Raises InputError for a damaged ELF file.
    """
    if data[:4] in BITCODE_MAGICS:
        try:
            return frozenset(_functions_of_bitcode(data))
        except (struct.error, ValueError):
            return frozenset()
    names = (section.name for section in parse_elf(Path("object"), data).sections)
    return frozenset(body[1] for name in names if (body := _BODY.fullmatch(name)))


def has_debug_information(data: bytes) -> bool:
    """Return whether an LTO object describes its functions, so that inlined ones are known.

    Raises InputError for a damaged ELF file.
    """
    if data[:4] in BITCODE_MAGICS:
        return _DEBUG_OF_LLVM in data
    sections = parse_elf(Path("object"), data).sections
    return any(section.name.startswith(_DEBUG_OF_GCC) for section in sections)


def _functions_of_bitcode(data: bytes) -> Iterator[str]:
    blobs = {block.kind: block for block in _blocks(data)}
    if not {_STRINGS_BLOCK, _SYMBOLS_BLOCK} <= blobs.keys():
        return
    texts, table = _blob(blobs[_STRINGS_BLOCK]), _blob(blobs[_SYMBOLS_BLOCK])
    at, count = struct.unpack_from("<2I", table, _SYMBOLS_AT)
    for _, _, start, size, _, flags in _SYMBOL.iter_unpack(table[at : at + count * _SYMBOL.size]):
        if flags & _EXECUTABLE and not flags & _UNDEFINED:
            yield texts[start : start + size].decode().removeprefix(_AS_IT_IS)


def _blocks(data: bytes) -> Iterator[_Block]:
    """Yield the outermost blocks of bitcode.

    Each begins on a word: two bits that say so, the kind in eight, the width in four; then the
    number of its words.
    """
    start, end = 0, len(data)
    if data[:4] == BITCODE_WRAPPER:  # words: magic, version, offset, size, machine
        start, size = struct.unpack_from("<2I", data, 8)
        end = min(end, start + size)
    at = start + 4
    while at + 8 <= end:
        head, words = struct.unpack_from("<2I", data, at)
        if head & 3 != _ENTER_BLOCK:
            return
        at += 8
        yield _Block(head >> 2 & 0xFF, head >> 10 & 0xF, data[at : at + 4 * words])
        at += 4 * words


def _blob(block: _Block) -> bytes:
    """Return the only blob of a block.

    Raises ValueError if the block has another form, or is cut off.
    """
    head, width = int.from_bytes(block.content[:16], "little"), block.width
    used = head >> (width + _ABBREVIATION_BITS) & ((1 << width) - 1)
    if head & ((1 << width) - 1) != _DEFINE_ABBREVIATION or used != _FIRST_ABBREVIATION:
        raise ValueError("not a block with one blob")
    at, size, shift = 2 * width + _ABBREVIATION_BITS, 0, 0
    while True:  # six bits at a time: five of the number, and whether more follow
        chunk = head >> at & 0x3F
        size |= (chunk & 0x1F) << shift
        at, shift = at + 6, shift + 5
        if not chunk & 0x20 or shift > 32:
            break
    start = (at + 31) // 32 * 4
    if start + size > len(block.content):
        raise ValueError("a blob is cut off")
    return block.content[start : start + size]
