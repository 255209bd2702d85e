"""Pack columns of integers and sorted strings into bytes that compress well.

Unpacking checks all bytes. The formats are:

Numbers: one byte for plain or differences, one for the width of the numbers, then all first bytes,
         all second bytes and so on.
Strings: the length of each string's common prefix with the previous one, the length of the rest,
         then the rests.
"""

from __future__ import annotations

import lzma
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Int, Texts

_WIDTHS = (0, 1, 2, 4, 8)
# 23 MB of names with common prefixes: preset 3 takes 1.26 MB and 0.8 s, zlib 1.96 MB and 0.2 s, bz2
# 1.49 MB and 1.9 s.
_PRESET = 3
_MEMORY = 64 << 20  # of a decompressor


class DamagedError(ValueError):
    """Bytes that this module did not write; str() describes the damage."""


def compress(data: bytes) -> bytes:
    """Compress a block."""
    return lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32, preset=_PRESET)


def decompress(data: bytes, size: int) -> bytes:
    """Decompress a block to exactly `size` bytes, without allocating more.

    Raises DamagedError for another size or damaged bytes.
    """
    reader = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_MEMORY)
    try:
        out = reader.decompress(data, max_length=size + 1)
    except lzma.LZMAError as error:
        raise DamagedError(str(error)) from error
    if len(out) != size or not reader.eof:
        raise DamagedError("a block has another size than stated")
    return out


def pack_numbers(values: npt.NDArray[np.int64] | npt.NDArray[np.int32]) -> bytes:
    """Pack numbers that are not negative."""
    plain = values.astype(np.int64)
    steps = np.diff(plain, prepend=np.int64(0))
    steps = (steps << 1) ^ (steps >> 63)
    candidates = [(_width(each), mode, each) for mode, each in enumerate((plain, steps))]
    width, mode, chosen = min(candidates, key=lambda candidate: candidate[:2])
    planes = chosen.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :width].T.tobytes()
    return bytes([mode, width]) + planes


def _width(values: npt.NDArray[np.int64]) -> int:
    """Return the bytes that the largest number needs."""
    most = int(values.max(initial=0))
    return next(width for width in _WIDTHS if most < 1 << 8 * width or width == 8)


def unpack_numbers(data: bytes, count: int) -> Int:
    """Unpack `count` numbers that are not negative. Raises DamagedError for other bytes."""
    if len(data) < 2 or data[0] > 1 or data[1] not in _WIDTHS or len(data) != 2 + count * data[1]:
        raise DamagedError("a column has another length than stated")
    table = np.zeros((count, 8), np.uint8)
    table[:, : data[1]] = np.frombuffer(data, np.uint8, offset=2).reshape(data[1], count).T
    values: Int = table.reshape(-1).view("<i8").astype(np.int64)
    if data[0] == 1:
        values = np.cumsum((values >> 1) ^ -(values & 1), dtype=np.int64)
    if count and int(values.min()) < 0:
        raise DamagedError("a column has a negative number")
    return values


def pack_texts(texts: Sequence[bytes]) -> tuple[bytes, bytes, bytes]:
    """Pack strings in ascending order: prefix lengths, lengths of the rests, the rests."""
    shared = np.array([0, *map(_shared, texts[1:], texts)][: len(texts)], np.int64)
    added = [text[n:] for text, n in zip(texts, shared.tolist(), strict=True)]
    return (
        pack_numbers(shared),
        pack_numbers(np.array([len(text) for text in added], np.int64)),
        b"".join(added),
    )


def _shared(text: bytes, before: bytes) -> int:
    """Return the length of two strings' common prefix, by bisection: 1 µs a pair."""
    low, high = 0, min(len(text), len(before))
    if text[:high] == before[:high]:
        return high
    while low + 1 < high:
        middle = (low + high) // 2
        if text[low:middle] == before[low:middle]:
            low = middle
        else:
            high = middle
    return low


def unpack_texts(shared: Int, added: Int, data: bytes, size: int) -> Texts:
    """Unpack strings of `size` bytes in total. Raises DamagedError for lengths that do not fit."""
    total, most = int(shared.sum()), int(shared.max(initial=0))
    if (
        int(added.max(initial=0)) > len(data)
        or int(added.sum()) != len(data)
        or most > size
        or total + len(data) != size
    ):
        raise DamagedError("texts have another length than stated")
    out = bytearray()
    text, at = b"", 0
    ends = []
    for keep, more in zip(shared.tolist(), added.tolist(), strict=True):
        if keep > len(text):
            raise DamagedError("a text shares more than its predecessor has")
        text = text[:keep] + data[at : at + more]
        at += more
        out += text
        ends.append(len(out))
    end = np.array(ends, np.int64)
    return Texts(
        np.frombuffer(bytes(out), np.uint8),
        np.concatenate([np.zeros(1, np.int64), end])[: len(end)],
        end,
    )
