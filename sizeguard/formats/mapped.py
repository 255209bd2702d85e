"""Turns pages of a mapped file that were read back into free memory; they are read again if somebody looks."""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt


def release(buffer: npt.NDArray[np.uint8]) -> None:
    """Nothing for a buffer that is no mapped file."""
    holder: object = buffer
    while holder is not None and not isinstance(holder, mmap.mmap):
        holder = holder.obj if isinstance(holder, memoryview) else getattr(holder, "base", None)
    if isinstance(holder, mmap.mmap) and hasattr(holder, "madvise"):
        holder.madvise(mmap.MADV_DONTNEED)
