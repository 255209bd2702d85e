"""Turns a symcache, the table that symbolic makes of debug information, into columns.

Its layout is internal to symbolic and versioned: only the version that this was written for is read.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sizeguard.formats.texts import Int, Texts

VERSION = 9
NONE = -1

_PREAMBLE = struct.Struct("<4sI")
# debug id, architecture, numbers of files, functions, locations and ranges, bytes of strings
_HEADER = struct.Struct("<32xIIIIII16x")
_FILE, _FUNCTION, _LOCATION, _RANGE = 24, 16, 16, 4


@dataclass(frozen=True, slots=True)
class SymCache:
    """Range i begins at start[i], relative to the image's base, and ends where the next begins; its innermost place is location[i].

    location:  int32, index into the columns of places; NONE where no code is described
    function:  of a place, int32, index into names, or NONE
    inlined:   of a place, int32, the place that it was inlined into, or NONE
    """

    start: Int
    location: npt.NDArray[np.int32]
    function: npt.NDArray[np.int32]
    inlined: npt.NDArray[np.int32]
    names: Texts


def parse_symcache(data: bytes) -> SymCache:
    """Raises ValueError for another version, and for tables that point outside of the bytes."""
    if len(data) < _PREAMBLE.size + _HEADER.size:
        raise ValueError("a symcache of no size")
    magic, version = _PREAMBLE.unpack_from(data)
    if magic != b"SYMC" or version != VERSION:
        raise ValueError(f"a symcache of version {version}, not {VERSION}")
    _, files, functions, locations, ranges, strings = _HEADER.unpack_from(data, _PREAMBLE.size)
    position = _PREAMBLE.size + _HEADER.size
    tables = []
    for count, width in ((files, _FILE), (functions, _FUNCTION), (locations, _LOCATION), (ranges, _RANGE), (strings, 1)):
        position = (position + 7) // 8 * 8
        if position + count * width > len(data):
            raise ValueError("a symcache that is cut")
        tables.append(np.frombuffer(data, np.uint8, count * width, position))
        position += count * width
    if ranges > locations:
        raise ValueError("a symcache with more ranges than places")
    function_table = tables[1].view("<u4").reshape(-1, 4)
    location_table = tables[2].view("<i4").reshape(-1, 4)
    function = _checked(location_table[:, 2], functions)
    inlined = _checked(location_table[:, 3], locations)
    # Places of ranges come last, in the ranges' order. A sentinel ends what the ranges before it cover: it has no function.
    location = np.arange(locations - ranges, locations, dtype=np.int32)
    location = np.where(function[location] == NONE, np.int32(NONE), location)
    return SymCache(tables[3].view("<u4").astype(np.int64), location, function, inlined, _names(tables[4], function_table[:, 0]))


def _checked(column: npt.NDArray[np.int32], count: int) -> npt.NDArray[np.int32]:
    if len(column) and (int(column.max()) >= count or int(column.min()) < NONE):
        raise ValueError("a symcache that points outside of its tables")
    return np.ascontiguousarray(column)


def _names(strings: npt.NDArray[np.uint8], offsets: npt.NDArray[np.uint32]) -> Texts:
    """Each string follows its length, a LEB128 number."""
    place = offsets.astype(np.int64)
    place[place == 0xFFFFFFFF] = len(strings)  # no name: the empty text at the end
    padded = np.concatenate([strings, np.zeros(8, np.uint8)])
    if len(place) and int(place.max()) > len(strings):
        raise ValueError("a symcache with a name outside of its strings")
    length = np.zeros(len(place), np.int64)
    more = np.ones(len(place), bool)
    for shift in range(0, 35, 7):
        byte = padded[np.minimum(place, len(strings))].astype(np.int64)
        length += np.where(more, (byte & 0x7F) << shift, 0)
        place += more
        more &= byte >= 0x80
    if len(place) and int((place + length).max()) > len(padded):
        raise ValueError("a symcache with a name outside of its strings")
    return Texts(padded, place, place + length)
