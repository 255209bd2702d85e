"""A Mach-O image in memory, with two segments of numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sizeguard.columns.texts import Texts
from sizeguard.formats.macho.image import Extent, MachO, MachoSymbols, Segment

SEGMENTS = ((0x1000, 0, 0x400), (0x3000, 0x400, 0x800))  # address, offset and size of each


def image_of(tables: dict[str, bytes]) -> MachO:
    """Return an image with two segments of numbers and these link-edit tables."""
    body = np.random.default_rng(1).integers(0, 256, 0xC00, np.uint8).tobytes()
    extents, data = [], body
    for name, table in tables.items():
        extents.append(Extent(name, len(data), len(table)))
        data += table
    none = np.zeros(0, np.int64)
    symbols = MachoSymbols(
        Texts.of(()), *(none.astype(kind) for kind in (np.uint8, np.uint8, np.uint16, np.int64))
    )
    segments = tuple(
        Segment(f"__S{i}", address, size, offset, size, 3, 3, 0, range(0))
        for i, (address, offset, size) in enumerate(SEGMENTS)
    )
    return MachO(
        path=Path("image"), offset=0, size=len(data), arch="arm64", order="<", is_64=True, cpu=0,
        filetype=6, flags=0, header_size=32, commands=(), segments=segments, sections=(),
        symbols=symbols, indirect=np.zeros(0, np.uint32), linkedit=tuple(extents), dylibs=(),
        uuid="", data=np.frombuffer(data, np.uint8),
    )  # fmt: skip
