"""Turns memory that columns have left into memory for the next ones.

Columns of half a million entries come and go by the dozen. The C library gives each back to the system when it is freed, and the next
one's pages are fetched and zeroed again. Reserving a pool of huge pages beforehand was measured, too: first touches of so much memory
took 0.5 s of a report of libtorch_cpu.so on a virtual machine; growing as needed takes 0.2.
"""

from __future__ import annotations

import ctypes
import sys

# Of malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8


def keep_freed() -> None:
    """From now on freed memory stays with the process. Known of glibc; elsewhere nothing changes."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
        mallopt(_ARENA_MAX, 1)
