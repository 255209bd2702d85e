"""Find the ends of exception tables in .gcc_except_table."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Bytes, Int

_OMIT = 0xFF


def table_ends(content: Bytes, start: Int, limit: Int) -> Int:
    """Return the end of each table: after its types, or after its call sites if it has no types.

    content: of the section; start: of each table; limit: start of the next table. A table that
    cannot be read ends at its limit.
    """
    last = len(content) - 1
    plain = content[start] == _OMIT  # no separate landing-pad base
    at = start + 1
    types = content[np.minimum(at, last)] != _OMIT
    at = at + 1
    length, behind, good = _uleb(content, at)
    typed_end = behind + length
    # Without types, the form of the call sites and their length come next.
    calls, calls_behind, calls_good = _uleb(content, at + 1)
    end = np.where(types, typed_end, calls_behind + calls)
    good = plain & np.where(types, good, calls_good) & (end <= limit)
    return np.where(good, end, limit)


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
