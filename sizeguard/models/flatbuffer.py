"""Read numbers, strings and tables of a FlatBuffer, with bounds checks.

The flatbuffers package reads without checks, and .sgp files are untrusted.
"""

from __future__ import annotations

import struct

import numpy as np

from sizeguard.base.dataclass import dataclass

# Vectors may share bytes, so a small file could expand into a huge program. In our files they do
# not, so each byte is read about once.
READS_PER_BYTE = 8
MINIMUM_READS = 1 << 16  # for buffers of up to 8 KiB


class FlatBufferError(ValueError):
    """Bytes that are not a FlatBuffer, or not of the expected kind."""


@dataclass(slots=True)
class Buffer:
    """The bytes of a FlatBuffer.

    budget: number of bytes that may still be read
    """

    data: bytes
    budget: int

    def spend(self, size: int) -> None:
        """Take bytes from the budget.

        Raises FlatBufferError if it is used up.
        """
        self.budget -= size
        if self.budget < 0:
            raise FlatBufferError("parts of the file are used too many times")

    def number(self, layout: struct.Struct, position: int) -> int | float:
        """Read a number.

        Raises FlatBufferError if it is not aligned or not inside the bytes.
        """
        if position < 0 or position + layout.size > len(self.data):
            raise FlatBufferError(f"a number at {position}, beyond the end at {len(self.data)}")
        if position % layout.size:
            raise FlatBufferError(f"a number at {position} is not aligned to {layout.size} bytes")
        value: int | float = layout.unpack_from(self.data, position)[0]
        return value

    def integer(self, layout: struct.Struct, position: int) -> int:
        """Read an integer, like number()."""
        return int(self.number(layout, position))


I8 = struct.Struct("<b")
U8 = struct.Struct("<B")
U16 = struct.Struct("<H")
I32 = struct.Struct("<i")
U32 = struct.Struct("<I")
I64 = struct.Struct("<q")
F64 = struct.Struct("<d")


def root_table(data: bytes, identifier: bytes) -> FlatTable:
    """Return the root of a FlatBuffer.

    Raises FlatBufferError if it lacks this file identifier.
    """
    if len(data) < 8 or data[4:8] != identifier:
        raise FlatBufferError(f"lacks the file identifier {identifier.decode()}")
    buffer = Buffer(data, max(MINIMUM_READS, READS_PER_BYTE * len(data)))
    return FlatTable(buffer, buffer.integer(U32, 0))


class FlatTable:
    """A table of a FlatBuffer.

    Fields are read by number; an absent field has its default.
    """

    def __init__(self, buffer: Buffer, position: int) -> None:
        """Read the layout of the table at a position."""
        self.buffer = buffer
        self.position = position
        vtable = position - buffer.integer(I32, position)
        size = buffer.integer(U16, vtable)
        buffer.spend(size)
        if size < 4 or size % 2 or vtable + size > len(buffer.data):
            raise FlatBufferError(f"the table at {position} has no vtable")
        self.offsets = struct.unpack_from(f"<{size // 2 - 2}H", buffer.data, vtable + 4)

    def _at(self, field: int) -> int | None:
        offset = self.offsets[field] if field < len(self.offsets) else 0
        return self.position + offset if offset else None

    def integer(self, field: int, layout: struct.Struct) -> int:
        """Read an integer field; 0 if it is absent."""
        position = self._at(field)
        return 0 if position is None else self.buffer.integer(layout, position)

    def number(self, field: int) -> float:
        """Read a float field; 0.0 if it is absent."""
        position = self._at(field)
        return 0.0 if position is None else float(self.buffer.number(F64, position))

    def _vector(self, field: int, element: int) -> tuple[int, int]:
        """Return the start and the number of elements; (0, 0) if the field is absent."""
        position = self._at(field)
        if position is None:
            return 0, 0
        start = position + self.buffer.integer(U32, position)
        count = self.buffer.integer(U32, start)
        if start + 4 + count * element > len(self.buffer.data):
            raise FlatBufferError(f"a vector of {count} elements extends beyond the end")
        self.buffer.spend(count * element)
        return start + 4, count

    def text(self, field: int) -> str:
        """Read a string field; empty if it is absent."""
        position = self._at(field)
        return "" if position is None else self._text_at(position)

    def texts(self, field: int) -> list[str]:
        """Read a vector of strings."""
        start, count = self._vector(field, 4)
        return [self._text_at(start + 4 * i) for i in range(count)]

    def _text_at(self, position: int) -> str:
        """Read the string that the offset at a position refers to.

        Its last byte is zero and does not count.
        """
        start = position + self.buffer.integer(U32, position)
        end = start + 4 + self.buffer.integer(U32, start)
        self.buffer.spend(end - start)
        if self.buffer.data[end : end + 1] != b"\0":
            raise FlatBufferError(f"the string at {start} is not terminated")
        return _decode(self.buffer.data[start + 4 : end])

    def tables(self, field: int) -> list[FlatTable]:
        """Read a vector of tables."""
        start, count = self._vector(field, 4)
        positions = range(start, start + 4 * count, 4)
        return [
            FlatTable(self.buffer, position + self.buffer.integer(U32, position))
            for position in positions
        ]

    def aligned_bytes(self, field: int, alignment: int) -> bytes:
        """Read an aligned vector of bytes."""
        start, count = self._aligned_vector(field, 1, alignment)
        return self.buffer.data[start : start + count]

    def _aligned_vector(self, field: int, element: int, alignment: int) -> tuple[int, int]:
        start, count = self._vector(field, element)
        if start % alignment:
            raise FlatBufferError(f"data at {start} is not aligned to {alignment} bytes")
        return start, count

    def structs(self, field: int, dtype: np.dtype) -> np.ndarray:
        """Read a vector of numbers or structs as an array.

        The dtype gives their alignment.
        """
        start, count = self._aligned_vector(field, dtype.itemsize, dtype.alignment)
        return np.frombuffer(self.buffer.data, dtype, count, start) if count else np.zeros(0, dtype)


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FlatBufferError("a string is not UTF-8") from error
