"""Settings that save time but change no result: numpy's start, malloc, threads.

Each stands here with its measurement. Imports no numpy, since some settings must come before it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Threads that work on columns at a time, at most one for each core. Numpy releases Python's lock
# while it works, but not between its calls, where more threads would wait for each other.
THREADS = 2

# AMD's Zen 4 has AVX-512, but its compress store, which numpy's sorts are made of, is slow: half a
# million int64 take 27 ms, with AVX2 6. The names are those of numpy 2.4 and before.
_WITHOUT_AVX512 = "X86_V3 AVX2 FMA3 AVX F16C SSE42 POPCNT SSE41 SSSE3 SSE3"

# Parameters of mallopt, from glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8


def prepare_numpy() -> None:
    """Set the variables that numpy reads when it is imported; those already set are kept."""
    # We use no linear algebra; starting the threads of numpy's library for it costs 40 ms.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Numpy asks for huge pages. Virtual machines that give free ones back to their host, as those
    # of CI do, fetch each anew: a report of libtensorflow_cc.so.2 took 3.4 s with them and 2.9
    # without, one of libtorch_cpu.so 0.74 (0.66 to 0.79) and 0.71.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    if "NPY_DISABLE_CPU_FEATURES" not in os.environ and _is_amd_with_avx512():
        os.environ.setdefault("NPY_ENABLE_CPU_FEATURES", _WITHOUT_AVX512)


def keep_freed() -> None:
    """Keep freed memory in the process from now on; does nothing without glibc.

    Columns of half a million entries come and go by the dozen. The C library gives each back to the
    system when it is freed, and the next one's pages are fetched and zeroed again. Reserving a pool
    of huge pages beforehand was measured, too: first touches of so much memory took 0.5 s of a
    report of libtorch_cpu.so on a virtual machine; growing as needed takes 0.2.
    """
    import ctypes  # 2 ms, which `sizeguard --help` need not wait for

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
        mallopt(_ARENA_MAX, 1)


def _is_amd_with_avx512() -> bool:
    """Read the first processor's vendor and flags; False where /proc does not tell."""
    about = Path("/proc/cpuinfo")
    if not about.exists():
        return False
    with about.open("rb") as file:
        cpu = file.read(1 << 12)
    return b"AuthenticAMD" in cpu and b" avx512f " in cpu
