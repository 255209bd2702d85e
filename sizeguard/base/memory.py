"""Free the memory of a mapped file's pages."""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt


def release(data: npt.NDArray[np.uint8]) -> None:
    """Free the memory that the pages of a mapped file take; do nothing for other buffers.

    The pages stay in the system's cache, from where they are read again.
    """
    holder: object = data
    while isinstance(holder, (np.ndarray, memoryview)):
        holder = holder.base if isinstance(holder, np.ndarray) else holder.obj
    if isinstance(holder, mmap.mmap) and hasattr(holder, "madvise"):  # Windows lacks it
        holder.madvise(mmap.MADV_DONTNEED)
