"""Settings that save time but change no result: numpy's start, malloc, threads, cycles.

Each setting has its measurement beside it. This module does not import numpy, since some settings
must precede that.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

# Threads that process columns at the same time, at most one for each core. Numpy releases Python's
# lock while it works, but not between its calls, where more threads would wait for each other.
THREADS = 2

# AMD's Zen 4 has AVX-512, but its compress store, which numpy's sorts use, is slow: half a million
# int64 take 27 ms, against 6 ms with AVX2. These are the names of numpy 2.4 and earlier.
_WITHOUT_AVX512 = "X86_V3 AVX2 FMA3 AVX F16C SSE42 POPCNT SSE41 SSSE3 SSE3"

# Parameters of mallopt, from glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8


def prepare_numpy() -> None:
    """Set the variables that numpy reads when it is imported, unless they are already set."""
    # We do not use linear algebra; starting the threads of numpy's library for it costs 40 ms.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Numpy requests huge pages. Virtual machines that return free pages to their host, as in CI,
    # fetch each of them again: a report of libtensorflow_cc.so.2 took 3.4 s with huge pages and 2.9
    # s without, a report of libtorch_cpu.so 0.74 s (0.66 to 0.79) and 0.71 s.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    if "NPY_DISABLE_CPU_FEATURES" not in os.environ and _is_amd_with_avx512():
        os.environ.setdefault("NPY_ENABLE_CPU_FEATURES", _WITHOUT_AVX512)


def keep_freed() -> None:
    """Keep freed memory in the process from now on; without glibc, do nothing.

    Columns of half a million entries are allocated and freed by the dozen. The C library returns
    each to the system when it is freed; then the next column's pages are fetched and zeroed again.
    Reserving a pool of huge pages beforehand was slower. On a virtual machine, touching so much
    memory first took 0.5 s of a report of libtorch_cpu.so. Growing as needed takes 0.2 s.
    """
    import ctypes  # takes 2 ms, which `sizeguard --help` saves

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
        mallopt(_ARENA_MAX, 1)


def collect_seldom() -> None:
    """Search for garbage in cycles after 100,000 new objects, instead of after 700.

    A command makes hundreds of thousands of objects and little such garbage. `predict` of a runtime
    of 1 MB takes 0.62 s instead of 0.64, with the same memory.
    """
    gc.set_threshold(100_000)


def skip_imported() -> None:
    """Exempt the modules imported so far from searches for garbage.

    A diff searches once for each image, to free it: 35 ms of 2.2 s with all modules.
    """
    gc.freeze()


def skip_last_collection() -> None:
    """Exempt all objects from the search for garbage that Python makes when it ends.

    The system frees the memory anyway. Exit handlers still run. Saves 0.03 s of each command that
    uses numpy: `report` of /bin/ls takes 0.15 s instead of 0.18.

    Not after a use of lief, which takes objects that remain for leaks, and prints 33 lines on them.
    """
    if "lief" not in sys.modules:
        gc.freeze()


def _is_amd_with_avx512() -> bool:
    """Read the first processor's vendor and flags; False if /proc does not list them."""
    about = Path("/proc/cpuinfo")
    if not about.exists():
        return False
    with about.open("rb") as file:
        cpu = file.read(1 << 12)
    return b"AuthenticAMD" in cpu and b" avx512f " in cpu
