"""Unpack the blocks of snapshots of version 1: xz, and sorted strings without common prefixes."""

from __future__ import annotations

import lzma

import numpy as np

from sizeguard.columns.texts import Int, Texts
from sizeguard.snapshots.packing import DamagedError

VERSION = 1
_MEMORY = 64 << 20  # of a decompressor


def decompress(data: bytes, size: int) -> bytes:
    """Decompress a block to exactly `size` bytes, without allocating more.

    Raises DamagedError for another size or damaged bytes.
    """
    reader = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_MEMORY)
    try:
        out = reader.decompress(data, max_length=size + 1)
    except lzma.LZMAError as error:
        raise DamagedError(str(error)) from error
    if len(out) != size or not reader.eof:
        raise DamagedError("a block has another size than stated")
    return out


def unpack_texts(shared: Int, added: Int, data: bytes, largest: int) -> Texts:
    """Unpack strings of at most `largest` bytes in total.

    shared: the length of each string's common prefix with the previous one
    added:  the length of the rest, which stands in `data`

    Raises DamagedError for lengths that do not fit.
    """
    if (
        int(added.max(initial=0)) > len(data)
        or int(added.sum()) != len(data)
        or int(shared.max(initial=0)) > largest
        or int(shared.sum()) + len(data) > largest
    ):
        raise DamagedError("texts have another length than stated")
    out = bytearray()
    text, at = b"", 0
    ends = []
    for keep, more in zip(shared.tolist(), added.tolist(), strict=True):
        if keep > len(text):
            raise DamagedError("a text shares more than its predecessor has")
        text = text[:keep] + data[at : at + more]
        at += more
        out += text
        ends.append(len(out))
    end = np.array(ends, np.int64)
    return Texts(
        np.frombuffer(bytes(out), np.uint8),
        np.concatenate([np.zeros(1, np.int64), end])[: len(end)],
        end,
    )
