"""64-bit hashes of strings, computed by column.

Equal strings have equal hashes. Among a million different names, the chance of a collision is 3e-8.
The hash is not secret: crafted names can make rows merge, but they cannot change sums.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from sizeguard.columns.compiled_code import CompiledCode
from sizeguard.columns.texts import Int, Texts

Hash = npt.NDArray[np.uint64]

_CODE = CompiledCode(Path(__file__).with_name("compiled"))
_WORD = 8
# A factor and a shift that spread a number's bits.
MULTIPLY = np.uint64(0xD6E8FEB86659FD93)
SHIFT = np.uint64(32)


def hash_texts(texts: Texts) -> Hash:
    """Hash each string: the sum of its eight-byte words, each mixed with its place.

    The last word ends with the string, so it may overlap the previous word. Strings of more than
    512 words are hashed in pieces. Returns uint64[len(texts)].
    """
    buffer = np.ascontiguousarray(texts.buffer, np.uint8)
    start, end = (np.ascontiguousarray(at, np.int64) for at in (texts.start, texts.end))
    hashes = np.empty(len(start), np.uint64)
    done = _CODE.call("hash_texts", buffer, len(buffer), start, end, len(start), hashes)
    if done < len(start):
        raise IndexError(f"string {done} is outside of its buffer")
    return hashes


def words_of(texts: Texts) -> tuple[Hash, Int]:
    """Return the buffer as eight-byte numbers from each offset, and where each text starts."""
    buffer, start = texts.buffer, texts.start
    filled = texts.end > start
    if len(buffer) < _WORD or bool((texts.end[filled] < _WORD).any()):
        # For a text that ends in the first word, the word that ends with it would start before the
        # buffer.
        buffer = np.concatenate([np.zeros(_WORD, np.uint8), buffer])
        start = start + _WORD
    return np.ndarray((len(buffer) - _WORD + 1,), "<u8", buffer=buffer.data, strides=(1,)), start
