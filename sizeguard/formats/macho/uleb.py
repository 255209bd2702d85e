"""Read ULEB128 numbers, as a column or one by one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Bytes, Int

_MOST_BYTES = 9  # 63 bits, the most that fits a column


def read_ulebs(data: Bytes) -> Int:
    """Read all numbers in the bytes; an incomplete one at the end is ignored.

    Raises ValueError for a number of more than 63 bits.
    """
    last = np.flatnonzero(data < 0x80)
    first = np.concatenate([[0], last[:-1] + 1])[: len(last)]
    if not len(last):
        return np.zeros(0, np.int64)
    if int((last - first).max()) >= _MOST_BYTES:
        raise ValueError("a number of more than 63 bits")
    used = data[: last[-1] + 1]
    place = np.arange(len(used)) - np.repeat(first, last - first + 1)
    return np.add.reduceat((used & 0x7F).astype(np.int64) << (7 * place), first)


def read_ulebs_at(data: Bytes, position: Int) -> tuple[npt.NDArray[np.uint64], Int]:
    """Read the number at each position; return the numbers and where they end.

    Raises IndexError at the end of the bytes, ValueError for a number of more than 64 bits.
    """
    value = np.zeros(len(position), np.uint64)
    end = position.copy()
    rows = np.arange(len(position))
    for place in range(_MOST_BYTES + 1):
        byte = data[end[rows]]
        end[rows] += 1
        if place == _MOST_BYTES and (byte > 1).any():
            raise ValueError("a number of more than 64 bits")
        value[rows] |= (byte & 0x7F).astype(np.uint64) << np.uint64(7 * place)
        rows = rows[byte >= 0x80]
        if not len(rows):
            break
    return value, end


class UlebReader:
    """Read numbers one after the other.

    Raises IndexError at the end of the bytes, ValueError for a number of more than 64 bits.
    """

    def __init__(self, data: bytes, position: int = 0) -> None:
        """Start at a position of the bytes."""
        self.data = data
        self.position = position

    def byte(self) -> int:
        """Read one byte."""
        value = self.data[self.position]
        self.position += 1
        return value

    def uleb(self) -> int:
        """Read an unsigned number."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def sleb(self) -> int:
        """Read a signed number."""
        start = self.position
        value = self.uleb()
        bits = 7 * (self.position - start)
        return value - (1 << bits) if value >> (bits - 1) & 1 else value

    def text(self) -> bytes:
        """Read a string up to its NUL."""
        end = self.data.index(b"\0", self.position)
        text = self.data[self.position : end]
        self.position = end + 1
        return text
