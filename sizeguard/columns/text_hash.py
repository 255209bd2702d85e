"""64-bit hashes of strings, computed by column.

Equal strings have equal hashes. Among a million different names, the chance of a collision is 3e-8.
The hash is not secret: crafted names can make rows merge, but they cannot change sums.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.compiled_code import compiled_beside
from sizeguard.columns.text_calls import call_for_texts
from sizeguard.columns.texts import Texts

_CODE = compiled_beside(__file__)

Hash = npt.NDArray[np.uint64]

# A factor and a shift that spread a number's bits.
MULTIPLY = np.uint64(0xD6E8FEB86659FD93)
SHIFT = np.uint64(32)


def hash_texts(texts: Texts) -> Hash:
    """Hash each string: the sum of its eight-byte words, each mixed with its place.

    The last word ends with the string, so it may overlap the previous word. Strings of more than
    512 words are hashed in pieces. Returns uint64[len(texts)].
    """
    hashes = np.empty(len(texts), np.uint64)
    call_for_texts(_CODE, "hash_texts", texts, hashes)
    return hashes
