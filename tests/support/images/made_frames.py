"""Inline frames as a reader of debug information gives them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sizeguard.columns.texts import Texts
from sizeguard.formats.dwarf import InlineFrames

Row = tuple[int, int, Sequence[int]]  # start, end, and indices of the names there, innermost first


def frames_with(names: Sequence[str], rows: Iterable[Row]) -> InlineFrames:
    """Make frames; a name may occur twice."""
    rows = list(rows)
    return InlineFrames(
        start=np.array([start for start, _, _ in rows], np.int64),
        end=np.array([end for _, end, _ in rows], np.int64),
        first=np.cumsum([0, *(len(over) for _, _, over in rows)]),
        frame=np.array([each for _, _, over in rows for each in over], np.int32),
        names=Texts.of(names),
    )


def frames_over(rows: Iterable[tuple[int, int, Sequence[str]]]) -> InlineFrames:
    """Make frames from the names over each range, the innermost first."""
    rows = list(rows)
    names = sorted({name for _, _, over in rows for name in over})
    return frames_with(names, [(a, b, [names.index(each) for each in over]) for a, b, over in rows])
