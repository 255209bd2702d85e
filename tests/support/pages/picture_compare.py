"""Compare two pictures of a page, with room for other smoothing of edges."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

Pixels = npt.NDArray[np.int16]

EDGE = 64  # of 255: the most that smoothing changes a colour on an edge
NEAR = 28  # of 255: the most that a colour is outside of those around it in the other picture
FLAT = 6  # of 255: the most that a colour changes within an area of one colour
BOX = 16  # px: side of the boxes in which differing pixels are counted
IN_BOX = 8  # of 256 pixels
SHARE = 0.0005  # of all pixels


@dataclass(frozen=True, slots=True)
class PictureDifference:
    """What differs between two pictures of one size.

    where:  the pixels that differ
    in_box: the most of them in one box
    """

    where: npt.NDArray[np.bool_]
    in_box: int

    @property
    def share(self) -> float:
        return float(self.where.mean())

    @property
    def is_seen(self) -> bool:
        return self.in_box > IN_BOX or self.share > SHARE


def pixels(picture: bytes) -> Pixels:
    """Decode a PNG to rows × columns × red, green, blue."""
    with Image.open(io.BytesIO(picture)) as image:
        return np.asarray(image.convert("RGB")).astype(np.int16)


def compare(new: Pixels, old: Pixels) -> PictureDifference:
    """Find what differs; a picture of another size differs everywhere."""
    if new.shape != old.shape:
        return PictureDifference(np.ones(new.shape[:2], np.bool_), BOX * BOX)
    where = (np.abs(new - old) > EDGE).any(axis=2)
    flat = np.ones(where.shape, np.bool_)
    for one, other in ((new, old), (old, new)):
        low, high = _around(other)
        where |= ((one < low - NEAR) | (one > high + NEAR)).any(axis=2)
        flat &= (high - low <= FLAT).all(axis=2)
    where |= flat & (np.abs(new - old) > FLAT).any(axis=2)
    sums = np.pad(where.astype(np.int32).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    boxes = sums[BOX:, BOX:] - sums[:-BOX, BOX:] - sums[BOX:, :-BOX] + sums[:-BOX, :-BOX]
    return PictureDifference(where, int(boxes.max()))


def _around(picture: Pixels) -> tuple[Pixels, Pixels]:
    """Return the least and the largest value of each pixel and its eight neighbours."""
    low = high = np.pad(picture, ((1, 1), (1, 1), (0, 0)), mode="edge")
    low = np.minimum(np.minimum(low[:-2], low[1:-1]), low[2:])
    high = np.maximum(np.maximum(high[:-2], high[1:-1]), high[2:])
    low = np.minimum(np.minimum(low[:, :-2], low[:, 1:-1]), low[:, 2:])
    high = np.maximum(np.maximum(high[:, :-2], high[:, 1:-1]), high[:, 2:])
    return low, high


def drawn(difference: PictureDifference, picture: Pixels) -> bytes:
    """Draw what differs in red on a pale picture, as PNG."""
    pale = (picture + 2 * 255) // 3
    pale[difference.where] = (255, 0, 0)
    return _png(Image.fromarray(pale.astype(np.uint8)))


def small(picture: bytes) -> bytes:
    """Reduce a picture to 256 colours, unless that changes one by more than about half of FLAT."""
    with Image.open(io.BytesIO(picture)) as image:
        whole = image.convert("RGB")
    few = whole.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    made = _png(few)
    changed = np.abs(pixels(made) - pixels(picture)).max()
    return made if changed <= FLAT // 2 else _png(whole)


def _png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "png", optimize=True)
    return out.getvalue()
