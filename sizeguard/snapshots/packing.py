"""Pack columns of integers and strings into bytes that compress well.

Unpacking checks all bytes. The formats are:

Numbers: one byte for plain or differences, one for the width of the numbers, then all first bytes,
         all second bytes and so on.
Strings: the length of each string as numbers, and all strings without anything between them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import zstandard

from sizeguard.columns.texts import Int, Int32, Texts

T = TypeVar("T", np.int32, np.int64)

_WIDTHS = (0, 1, 2, 4, 8)
# 76 MB of sorted names and 20 columns of 2.8 million rows: level 6 takes 4.2 MB and 0.7 s, level 3
# 5.0 MB and 0.3 s, level 12 3.9 MB and 1.9 s; each is read in 0.08 s, xz's 3.5 MB in 0.5 s.
_LEVEL = 6
_OF_THREAD = threading.local()


class DamagedError(ValueError):
    """Bytes that this module did not write; str() describes the damage."""


def compress(data: bytes) -> bytes:
    """Compress a block."""
    return _compressor().compress(data)


def _compressor() -> zstandard.ZstdCompressor:
    """Return this thread's compressor for all blocks; a new one takes longer than a small block.

    Two threads that use one at the same time crash the interpreter.
    """
    found: zstandard.ZstdCompressor | None = getattr(_OF_THREAD, "compressor", None)
    if found is None:
        found = _OF_THREAD.compressor = zstandard.ZstdCompressor(level=_LEVEL)
    return found


def decompress(data: bytes, size: int) -> bytes:
    """Decompress a block to exactly `size` bytes, without allocating more.

    Raises DamagedError for another size or damaged bytes.
    """
    try:
        if zstandard.frame_content_size(data) != size:
            raise DamagedError("a block has another size than stated")
        return zstandard.ZstdDecompressor().decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise DamagedError(str(error)) from error


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
    return _unpack(data, count, np.dtype(np.int64))


def unpack_ids(data: bytes, count: int) -> Int32:
    """Unpack numbers below 2^31, in half the memory of unpack_numbers.

    Raises DamagedError for other bytes.
    """
    bits = 8 * data[1] + (data[0] * count).bit_length() if len(data) >= 2 else 64
    if bits < 32:
        return _unpack(data, count, np.dtype(np.int32))
    numbers = unpack_numbers(data, count)
    if int(numbers.max(initial=0)) >= 1 << 31:
        raise DamagedError("an index is larger than 31 bits")
    return numbers.astype(np.int32)


def _unpack(data: bytes, count: int, kind: np.dtype[T]) -> npt.NDArray[T]:
    """Unpack numbers to a type that has room for them; if they are differences, for any sums."""
    if len(data) < 2 or data[0] > 1 or data[1] not in _WIDTHS or len(data) != 2 + count * data[1]:
        raise DamagedError("a column has another length than stated")
    width = data[1]
    if not width:
        return np.zeros(count, kind)
    values = _joined_planes(np.frombuffer(data, np.uint8, offset=2).reshape(width, count))
    if data[0] == 1:
        # In the narrowest type with room for the sign, as most columns have one byte a number.
        steps = values.astype(f"<i{min(2 * width, 8)}", copy=False)
        numbers = np.cumsum((steps >> 1) ^ -(steps & 1), dtype=kind)
    else:
        numbers = values.astype(kind)
    if (data[0] == 1 or width == 8) and int(numbers.min(initial=0)) < 0:
        raise DamagedError("a column has a negative number")
    return numbers


def _joined_planes(planes: npt.NDArray[np.uint8]) -> npt.NDArray[np.unsignedinteger]:
    """Join all first bytes, all second bytes and so on to numbers.

    Most numbers are small: three million sizes take 5 ms, copying all bytes to a table 30 ms.
    """
    width, count = planes.shape
    values: npt.NDArray[np.unsignedinteger] = planes[0].astype(f"<u{width}")
    for k in range(1, width):
        shift = values.dtype.type(8 * k)
        filled = np.flatnonzero(planes[k] != 0)
        if 8 * len(filled) < count:
            values[filled] |= planes[k][filled].astype(values.dtype) << shift
        else:
            values |= planes[k].astype(values.dtype) << shift
    return values


def pack_texts(texts: Sequence[bytes]) -> tuple[bytes, bytes]:
    """Pack strings: their lengths, and their bytes. Sorted ones take the fewest."""
    return pack_numbers(np.array([len(text) for text in texts], np.int64)), b"".join(texts)


def unpack_texts(lengths: Int, data: bytes) -> Texts:
    """Unpack strings. Raises DamagedError for lengths that do not fit."""
    if int(lengths.max(initial=0)) > len(data) or int(lengths.sum()) != len(data):
        raise DamagedError("texts have another length than stated")
    end = np.cumsum(lengths, dtype=np.int64)
    return Texts(np.frombuffer(data, np.uint8), end - lengths, end)
