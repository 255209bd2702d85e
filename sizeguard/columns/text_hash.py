"""64-bit hashes of strings, computed by column.

Equal strings have equal hashes. Among a million different names, the chance of a collision is 3e-8.
The hash is not secret: crafted names can make rows merge, but they cannot change sums.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Int, Texts

Hash = npt.NDArray[np.uint64]

_WORD = 8
# Words that are processed at a time; they fit the cache. All at once takes twice as long.
_BATCH = 1 << 15
_LONGEST = 512  # words; longer texts are hashed in pieces of this length
# A factor and a shift that spread a number's bits.
MULTIPLY = np.uint64(0xD6E8FEB86659FD93)
SHIFT = np.uint64(32)
_LENGTH = np.uint64(0xA0761D6478BD642F)
# A random number for each place in a string, and a random odd number. So the same words in another
# order have another sum.
_PLACE = np.arange(1, _LONGEST + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
_FACTOR = (_PLACE ^ (_PLACE >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) | np.uint64(1)


def hash_texts(texts: Texts) -> Hash:
    """Hash each string: the sum of its eight-byte words, each mixed with its place.

    The last word ends with the string, so it may overlap the previous word. Returns
    uint64[len(texts)].

    Strings with the same number of words form the rows of a table: 474,170 names of 72 MB take 0.03
    s. tests/bench has more times.
    """
    length = texts.end - texts.start
    hashes = np.zeros(len(texts), np.uint64)
    count = (length + _WORD - 1) // _WORD
    short = np.flatnonzero((length < _WORD) & (length > 0))
    hashes[short] = _mixed(_short_words(texts, short).reshape(-1, 1), 0)
    few = np.minimum(count, _LONGEST + 1).astype(np.uint16)
    few[length < _WORD] = 0
    order = np.argsort(few, kind="stable")  # 16 bits, so numpy uses a radix sort
    bounds = np.searchsorted(few[order], np.arange(1, _LONGEST + 3, dtype=np.uint16))
    for words in np.flatnonzero(np.diff(bounds)).tolist():
        rows = order[bounds[words] : bounds[words + 1]]
        if words < _LONGEST:
            hashes[rows] = _hash_rows(texts.buffer, texts.start[rows], texts.end[rows], words + 1)
        else:
            for row in rows.tolist():
                hashes[row] = _hash_long(texts.buffer, int(texts.start[row]), int(texts.end[row]))
    hashes += length.astype(np.uint64) * _LENGTH
    _mix(hashes)
    return hashes


def _hash_rows(buffer: npt.NDArray[np.uint8], start: Int, end: Int, words: int) -> Hash:
    """Hash strings of `words` words and at least 8 bytes, without the last step."""
    hashes = np.empty(len(start), np.uint64)
    # The words of a string reach up to 7 bytes behind it, so the buffer's last strings are copied.
    is_last = start + _WORD * words > len(buffer)
    if is_last.any():
        low = int(start[is_last].min())
        longer = np.append(buffer[low:], np.zeros(_WORD, np.uint8))
        hashes[is_last] = _hash_rows(longer, start[is_last] - low, end[is_last] - low, words)
        if is_last.all():
            return hashes
        others = ~is_last
        hashes[others] = _hash_rows(buffer, start[others], end[others], words)
        return hashes
    # Views of the buffer as runs of `words` words and as words, starting at any byte. One copy has
    # all words of a string; the last word is then read again so that it ends with the string. Two
    # copies that are joined take four times as long, and copies of single words twice as long.
    runs = np.ndarray(
        (len(buffer) - _WORD * words + 1,), f"V{_WORD * words}", buffer=buffer.data, strides=(1,)
    )
    last: Hash = np.ndarray((len(buffer) - _WORD + 1,), "<u8", buffer=buffer.data, strides=(1,))
    step = max(1, _BATCH // words)
    for low in range(0, len(start), step):
        high = low + step
        table = runs[start[low:high]].view("<u8").reshape(-1, words).astype(np.uint64, copy=False)
        table[:, -1] = last[end[low:high] - _WORD]
        hashes[low:high] = _mixed(table, 0)
    return hashes


def _hash_long(buffer: npt.NDArray[np.uint8], start: int, end: int) -> np.uint64:
    """Hash one long string: the sum of its pieces' hashes, each mixed with its number."""
    total = np.zeros(1, np.uint64)
    step = _WORD * _LONGEST
    for number, at in enumerate(range(start, end, step)):
        piece = buffer[at : min(at + step, end)]
        padded = np.zeros(-(-len(piece) // _WORD) * _WORD, np.uint8)
        padded[: len(piece)] = piece
        hashed = _mixed(padded.view("<u8").astype(np.uint64).reshape(1, -1), number + 1)
        _mix(hashed)
        total = total * MULTIPLY + hashed
    return np.uint64(total[0])


def _mixed(table: Hash, seed: int) -> Hash:
    """Sum each row's words after mixing and multiplying; overwrites the table."""
    width = table.shape[1]
    table ^= _PLACE[:width] + np.uint64(seed)
    table *= MULTIPLY
    table ^= table >> SHIFT
    sums: Hash = np.einsum("ij,j->i", table, _FACTOR[:width])  # np.dot takes a third more
    return sums


def _short_words(texts: Texts, rows: Int) -> Hash:
    """Return each string of fewer than eight bytes as one number."""
    value = np.zeros(len(rows), np.uint64)
    start, end = texts.start[rows], texts.end[rows]
    for i in range(_WORD - 1):
        at = start + i
        inside = at < end
        value[inside] |= texts.buffer[at[inside]].astype(np.uint64) << np.uint64(8 * i)
    return value


def _mix(value: Hash) -> None:
    """Spread each number's bits over all 64, in place."""
    value ^= value >> SHIFT
    value *= MULTIPLY
    value ^= value >> SHIFT
    value *= MULTIPLY
    value ^= value >> SHIFT


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
