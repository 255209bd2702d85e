"""Find a constant in code and data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sizeguard.formats.binary import Binary
from sizeguard.formats.elf import Elf
from sizeguard.verify.evidence.code_search import occurrences

_AARCH64 = ("aarch64", "arm64")
# Instructions between the moves of a constant's halves.
_WINDOW = 16
_MOVN, _MOVZ, _MOVK = 0, 2, 3


def size_of(value: int) -> int:
    """Return the bytes of a constant."""
    return 8 if value >> 32 else 4


def constant_places(binary: Binary, value: int) -> list[int]:
    """Return the addresses of a constant in the loaded sections of an image or object.

    Code of aarch64 moves it in halves of 16 bits; other machines with instructions of 4 bytes have
    more ways, which are not known here.
    """
    size = size_of(value)
    wanted = [value.to_bytes(size, "little")]
    if isinstance(binary, Elf) and binary.layout.order == ">":
        wanted.append(value.to_bytes(size, "big"))  # code of aarch64_be is little-endian
    found: list[int] = []
    for section in binary.sections:
        if not section.is_allocated:
            continue
        content = binary.content(section)
        places = [place for each in wanted for place in occurrences(content, each)]
        if section.is_executable and binary.machine in _AARCH64:
            places += _moved(content, value, size)
        found += [section.address + place for place in places]
    return found


def _moved(content: bytes, value: int, size: int) -> Iterator[int]:
    """Yield the places of moves of a constant's halves into one register of aarch64."""
    words = np.frombuffer(content[: len(content) // 4 * 4], "<u4")
    kind = np.where(words & 0x1F800000 == 0x12800000, words >> 29 & 3, 1)
    shift = (words >> 21 & 3) * 16
    part = words >> 5 & 0xFFFF
    half = (np.uint64(value) >> shift.astype(np.uint64)).astype(np.uint32) & 0xFFFF
    is_first = ((kind == _MOVZ) & (part == half)) | ((kind == _MOVN) & (part ^ 0xFFFF == half))
    for first in np.flatnonzero(is_first).tolist():
        known = int(part[first]) << int(shift[first])
        known = ~known if kind[first] == _MOVN else known
        mask = (1 << 64) - 1 if words[first] >> 31 else (1 << 32) - 1
        register = words[first] & 31
        for at in range(first, min(first + _WINDOW, len(words))):
            if words[at] & 31 != register:
                continue
            if kind[at] == _MOVK:
                known = known & ~(0xFFFF << int(shift[at])) | int(part[at]) << int(shift[at])
            if known & mask == value:
                yield 4 * first
                break
