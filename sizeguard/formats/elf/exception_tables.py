"""Find the ends of exception tables in .gcc_except_table."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Bytes, Int
from sizeguard.formats.elf.cie import OMIT


def table_ends(content: Bytes, start: Int, limit: Int) -> Int:
    """Return the end of each table: after its types, or after its call sites if it has no types.

    content: of the section
    start: offset of each table in it
    limit: start of the next table; a table that cannot be read ends there

    A table begins with the form of its landing-pad base (always omitted) and the form of its types.
    With types, the distance to their end follows; else the form and the length of the call sites.
    """
    last = len(content) - 1
    is_known = content[start] == OMIT
    has_types = content[np.minimum(start + 1, last)] != OMIT
    types, after_types, good_types = _uleb(content, start + 2)
    calls, after_calls, good_calls = _uleb(content, start + 3)
    end = np.where(has_types, after_types + types, after_calls + calls)
    is_known &= np.where(has_types, good_types, good_calls) & (end <= limit)
    return np.where(is_known, end, limit)


def _uleb(content: Bytes, at: Int) -> tuple[Int, Int, npt.NDArray[np.bool_]]:
    """Read ULEB128 numbers of up to five bytes, one at each place.

    Returns the numbers, the places after them, and whether each number is complete.
    """
    value = np.zeros(len(at), np.int64)
    going = np.ones(len(at), bool)
    at = at.copy()
    for shift in range(0, 35, 7):
        byte = content[np.minimum(at, len(content) - 1)].astype(np.int64)
        value += np.where(going, (byte & 127) << shift, 0)
        at += going
        going &= byte >= 128
        if not going.any():
            break
    return value, at, ~going & (at <= len(content))
