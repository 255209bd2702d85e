"""Read and write a snapshot's header: what was measured, and where the blocks are."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import asdict
from pathlib import Path
from typing import cast

from sizeguard.ledger.ledger import ImageInfo
from sizeguard.ledger.region_use import RegionUse
from sizeguard.snapshots.magic import MAGIC
from sizeguard.snapshots.origin import Origin, origin_from_json
from sizeguard.snapshots.packing import DamagedError

VERSION = 2
HEAD = struct.Struct("<H32sI")
_OF_REGIONS = ("origin", "length", "used", "stored", "run")
# Bytes of all blocks, unpacked; a snapshot of 1,237,881 symbols has 0.3 times as many.
LARGEST = 1 << 30
_MOST_ROWS = 1 << 23  # 72 bytes each when all labels are unpacked
_HEADER_LARGEST = 1 << 20
_NEEDED, _REGIONS, _KIND = "needed", "regions", "kind"
ORIGIN = "origin"

Blocks = dict[str, tuple[bytes, int]]


def stated(image: ImageInfo) -> dict[str, object]:
    """Return the header's description of an image; unknown values take no bytes."""
    found = asdict(image) | {"path": Path(image.path).name}
    if image.needed is None:
        del found[_NEEDED]
    if image.regions is None:
        del found[_REGIONS]
    if not image.kind:
        del found[_KIND]
    return found


def origin_of(header: dict[str, object]) -> Origin | None:
    """Return the origin of the build, if it was saved."""
    try:
        return origin_from_json(header.get(ORIGIN))
    except ValueError as error:
        raise DamagedError(f"its header has a {error}") from error


def header_of(data: bytes) -> tuple[dict[str, object], Blocks]:
    """Check the checksum; return the header, and each block's bytes and unpacked size."""
    _, digest, length = HEAD.unpack_from(data, len(MAGIC))
    start = len(MAGIC) + HEAD.size
    if hashlib.sha256(data[start - 4 :]).digest() != digest:
        raise DamagedError("its checksum is wrong")
    if length > min(_HEADER_LARGEST, len(data) - start):
        raise DamagedError("its header is truncated")
    try:
        header = json.loads(data[start : start + length])
    except (ValueError, RecursionError) as error:
        raise DamagedError("its header is not JSON") from error
    if not isinstance(header, dict) or not isinstance(header.get("blocks"), list):
        raise DamagedError("its header has no blocks")
    blocks: Blocks = {}
    at = start + length
    total = 0
    for block in header["blocks"]:
        if not (
            isinstance(block, list)
            and len(block) == 3
            and isinstance(block[0], str)
            and _is_size(block[1])
            and _is_size(block[2])
        ):
            raise DamagedError("its header has a damaged block")
        name, size, packed = block
        total += size
        if at + packed > len(data) or total > LARGEST:
            raise DamagedError(f"block {name} is too large")
        blocks[name] = data[at : at + packed], size
        at += packed
    return header, blocks


def _is_size(value: object) -> bool:
    """Check for an integer that is a valid size."""
    return type(value) is int and 0 <= value <= LARGEST


def rows_of(header: dict[str, object]) -> int:
    """Return the number of rows."""
    rows = header.get("rows")
    if not _is_size(rows):
        raise DamagedError("its header has no rows")
    if cast(int, rows) > _MOST_ROWS:
        raise DamagedError("it has too many rows")
    return cast(int, rows)


def image_of(header: dict[str, object]) -> ImageInfo:
    """Return the image that was measured."""
    image = header.get("image")
    texts, sizes = ("path", "title", "format", "arch", "id"), ("file", "load", "ram")
    if not isinstance(image, dict) or set(image) - {_NEEDED, _REGIONS, _KIND} != {*texts, *sizes}:
        raise DamagedError("its header has no image")
    if not all(isinstance(image.get(name, ""), str) for name in (*texts, _KIND)) or not all(
        type(image[name]) is int and image[name] >= 0 for name in sizes
    ):
        raise DamagedError("its header has a damaged image")
    needed = image.pop(_NEEDED, None)
    regions = _regions_of(image.pop(_REGIONS, None))
    if needed is None:
        return ImageInfo(**image, regions=regions)
    if not isinstance(needed, list) or not all(isinstance(name, str) for name in needed):
        raise DamagedError("its header has damaged libraries")
    return ImageInfo(**image, needed=tuple(needed), regions=regions)


def _regions_of(content: object) -> tuple[RegionUse, ...] | None:
    """Return the memory regions of an image; None if not known."""
    if content is None:
        return None
    damaged = DamagedError("its header has damaged memory regions")
    if not isinstance(content, list):
        raise damaged
    found = []
    for each in content:
        if not isinstance(each, dict) or each.keys() != {"name", *_OF_REGIONS, "sections"}:
            raise damaged
        names = each["sections"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise damaged
        numbers = [each[name] for name in _OF_REGIONS]
        if not all(type(number) is int and 0 <= number < 1 << 64 for number in numbers):
            raise damaged
        if not isinstance(each["name"], str):
            raise damaged
        found.append(RegionUse(**(each | {"sections": tuple(names)})))
    return tuple(found)
