"""Texts as in a string table, and the chunk that the scan of names makes of them."""

from __future__ import annotations

import numpy as np

from sizeguard.columns.texts import Texts
from sizeguard.names.scan.identifiers import Chunk
from sizeguard.names.scan.packed_names import PackedNames


def side_by_side(names: Texts) -> Texts:
    """Copy names to a new buffer, each with a zero after it."""
    raw = names.all_raw()
    end = np.cumsum([len(name) + 1 for name in raw], dtype=np.int64) - 1
    buffer = np.frombuffer(b"".join(name + b"\0" for name in raw), np.uint8)
    return Texts(buffer, end - names.lengths(), end)


def chunk_of(names: Texts) -> Chunk:
    """Return the only chunk of a few names."""
    (chunk,) = PackedNames.of(side_by_side(names), Texts.of([])).chunks()
    return chunk
