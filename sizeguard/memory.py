"""Turns memory that columns have left into memory for the next ones.

Columns of half a million entries come and go by the dozen. The C library gives each back to the system when it is freed, and the next
one's pages are fetched and zeroed again, 4 KiB at a time: 0.15 s of a report of libtorch_cpu.so, 70,000 page faults; with this 9,000.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable

# Of malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8
# Of mman.h.
_HUGE_PAGES, _POPULATE_WRITE = 14, 23
_HUGE_PAGE = 2 << 20

_workers: list[threading.Thread] = []  # at most one: what one image leaves serves the next


def keep_freed(reserved: int, touched: int) -> Callable[[], None]:
    """From now on freed memory stays with the process; gives what waits until `reserved` bytes are there for the next columns.

    The first `touched` of them are fetched beside the import of numpy: first touches took 0.07 to 0.19 s of a report on a virtual
    machine. Known of glibc; elsewhere nothing changes.
    """
    if _workers:
        return _workers[0].join
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if libc is None or not hasattr(libc, "mallopt"):
        return lambda: None
    libc.mallopt(_MMAP_MAX, 0)
    libc.mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
    libc.mallopt(_ARENA_MAX, 1)
    _workers.append(threading.Thread(target=_reserve, args=(libc, reserved, touched), daemon=True))
    _workers[0].start()
    return _workers[0].join


def _reserve(libc: ctypes.CDLL, reserved: int, touched: int) -> None:
    """In one piece, so that columns of 4 MB get huge pages, too. What the system refuses is done without."""
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = (ctypes.c_size_t,)
    libc.free.argtypes = (ctypes.c_void_p,)
    libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    memory = libc.malloc(reserved)
    if memory is None:
        return
    start = -(-memory // _HUGE_PAGE) * _HUGE_PAGE
    libc.madvise(start, max((memory + reserved - start) // _HUGE_PAGE * _HUGE_PAGE, 0), _HUGE_PAGES)
    libc.madvise(start, min(touched, max(reserved - 2 * _HUGE_PAGE, 0)) // _HUGE_PAGE * _HUGE_PAGE, _POPULATE_WRITE)
    libc.free(memory)
