"""Turns memory that columns have left into memory for the next ones.

Columns of half a million entries come and go by the dozen. The C library gives each back to the system when it is freed, and the next
one's pages are fetched and zeroed again, 4 KiB at a time: 0.15 s of a report of libtorch_cpu.so, 70,000 page faults; with this 9,000.
"""

from __future__ import annotations

import ctypes
import sys

# Of malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8


def keep_freed(expected: int) -> None:
    """From now on freed memory stays with the process. expected: bytes that will be needed at once; more can be had.

    Known of glibc; elsewhere nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None:
        return
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
    mallopt(_ARENA_MAX, 1)
    import contextlib

    import numpy as np

    # Numpy asks for huge pages for what it allocates; in one piece, so that columns of 4 MB get them, too. Where a limit forbids as
    # much, less may still be enough.
    with contextlib.suppress(MemoryError):
        np.empty(expected, np.uint8)
