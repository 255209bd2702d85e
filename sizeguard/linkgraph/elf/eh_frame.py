"""Read the records of an object's .eh_frame: headers (CIE) and entries (FDE)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError

# Assemblers align the entries to words, and the last one of an object to a pointer.
_WORD, _TRIMMED = 4, 24


@dataclass(frozen=True, slots=True)
class Record:
    """Bytes [start, end) of the section.

    cie: for an entry, the offset of its header; -1 for a header
    """

    start: int
    end: int
    cie: int


def read_records(content: bytes, label: str) -> list[Record]:
    """List all records except the terminator. Raises InputError for a truncated record."""
    records = []
    position = 0
    while position + 4 <= len(content):
        (length,) = struct.unpack_from("<I", content, position)
        if length == 0:  # crtend.o ends the list; nothing may follow
            position += 4
            continue
        body = position + 4
        if length == 0xFFFFFFFF:
            if position + 12 > len(content):
                raise InputError(f"{label}: a damaged .eh_frame: a record at {position} is cut")
            (length,) = struct.unpack_from("<Q", content, body)
            body += 8
        end = body + length
        if end > len(content) or length < 4:
            raise InputError(
                f"{label}: a damaged .eh_frame: a record at {position} of {length} bytes"
            )
        (back,) = struct.unpack_from("<I", content, body)
        records.append(Record(position, end, -1 if back == 0 else body - back))
        position = end
    return records


def trimmed_size(content: bytes, record: Record, relocated: Sequence[int]) -> int:
    """Return the bytes of an entry without a last word of filling.

    relocated: the places of its relocations
    """
    size, last = record.end - record.start, record.end - _WORD
    # In a shorter entry the last word holds the length of its optional data.
    is_filling = size >= _TRIMMED and not any(content[last : record.end])
    if is_filling and all(at + _WORD <= last for at in relocated):
        return size - _WORD
    return size
