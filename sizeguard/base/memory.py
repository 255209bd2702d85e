"""Give back the memory of pages of a mapped file."""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt


def release(data: npt.NDArray[np.uint8]) -> None:
    """Give back the memory that pages of a mapped file take; of any other buffer nothing.

    They stay in the system's cache and come back when they are read.
    """
    holder: object = data
    while isinstance(holder, (np.ndarray, memoryview)):
        holder = holder.base if isinstance(holder, np.ndarray) else holder.obj
    if isinstance(holder, mmap.mmap) and hasattr(holder, "madvise"):  # Windows has none
        holder.madvise(mmap.MADV_DONTNEED)
