"""Read the functions that Go's linker lists in .gopclntab, which stripping keeps."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

from sizeguard.base.dataclass import dataclass

# By magic: the place of the offsets, and whether functions are 32-bit offsets from the start of the
# text.
_GO_1_2, _GO_1_16, _GO_1_18, _GO_1_20 = 0xFFFFFFFB, 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
_MOST_FUNCTIONS = 1 << 22
_LONGEST_NAME = 8 << 10


@dataclass(frozen=True, slots=True)
class GoFunctions:
    """Functions [start, end), addresses in ascending order, and their names."""

    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    names: list[bytes]


@dataclass(frozen=True, slots=True)
class _GoHeader:
    """text: base address of functions; names, records, table: offsets; is_narrow: 32-bit entries.

    records: what the offsets of functions' records count from
    """

    order: str
    width: int
    count: int
    text: int
    names: int
    records: int
    table: int
    is_narrow: bool


def go_functions(content: bytes, text: int) -> GoFunctions | None:
    """Read the table; None if it is damaged or something else.

    text: address of the code, for position-independent files, whose table does not contain it
    """
    header = _header(content)
    if header is None or header.count > _MOST_FUNCTIONS:
        return None
    if max(header.names, header.records, header.table) > len(content) or header.text >= 1 << 62:
        return None
    kind = f"{header.order}u{4 if header.is_narrow else header.width}"
    width = np.dtype(kind).itemsize
    size = (2 * header.count + 1) * width
    raw = content[header.table : header.table + size]
    if len(raw) < size or not header.count:
        return None
    words = np.frombuffer(raw, kind).astype(np.int64)
    starts, records = words[:-1:2], words[1::2]
    ends = np.append(starts[1:], words[-1])
    skip = 4 if header.is_narrow else header.width
    at = header.records + records + skip
    if int(at.min()) < 0 or int(at.max()) + 4 > len(content) or (np.diff(starts) < 0).any():
        return None
    places = np.frombuffer(content, np.uint8)[at[:, None] + np.arange(4)]
    offsets = np.ascontiguousarray(places).view(f"{header.order}u4").reshape(-1).astype(np.int64)
    base = (header.text or text) if header.is_narrow else 0
    names = [_name(content, header.names + offset) for offset in offsets.tolist()]
    return GoFunctions(starts + base, ends + base, names)


def _header(content: bytes) -> _GoHeader | None:
    for order in "<>":
        if len(content) < 80:
            return None
        magic, zeros, quantum, width = struct.unpack_from(f"{order}IHBB", content)
        if zeros or quantum not in (1, 2, 4) or width not in (4, 8):
            continue
        form = f"{order}8{'I' if width == 4 else 'Q'}"
        values = struct.unpack_from(form, content, 8)
        if magic == _GO_1_2:
            return _GoHeader(order, width, values[0], 0, 0, 0, 8 + width, False)
        if magic == _GO_1_16:
            return _GoHeader(order, width, values[0], 0, values[2], values[6], values[6], False)
        if magic in (_GO_1_18, _GO_1_20):
            return _GoHeader(
                order, width, values[0], values[2], values[3], values[7], values[7], True
            )
    return None


def _name(content: bytes, start: int) -> bytes:
    end = content.find(b"\0", start, start + _LONGEST_NAME)
    return content[start:end] if end >= 0 else b""
