"""Call C functions that read texts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.compiled_code import CompiledCode
from sizeguard.columns.texts import Texts


def call_for_texts(
    code: CompiledCode, name: str, texts: Texts, *results: npt.NDArray[np.generic]
) -> int:
    """Call a function with a buffer, its size, where each text starts and ends, and their number.

    results: arrays for the results, of an entry for each text

    The function returns -1 - i if text i is not inside the buffer. Raises IndexError then.
    """
    buffer = np.ascontiguousarray(texts.buffer, np.uint8)
    start, end = (np.ascontiguousarray(at, np.int64) for at in (texts.start, texts.end))
    found = code.call(name, buffer, len(buffer), start, end, len(start), *results)
    if found < 0:
        raise IndexError(f"text {-1 - found} is outside of its buffer")
    return found
