"""Rows that debug information cuts out of functions; only some levels need them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.filters import parse_filters
from sizeguard.columns.sums import Counts
from sizeguard.columns.texts import Int

INLINE = b"inline frames"
# Stands for the levels of a report or diff if the user gives none. Of one image they may be the
# operators; of several images they are the images, whose debug information is not needed.
DEFAULT = "default"
# Levels that distinguish a piece from the function around it. Other levels do not read debug
# information, which takes 5 s for an image of 56 MB; its symbols take 0.6 s. An inlined function
# can belong to another operator than the function around it.
_ASKING = frozenset({"analyzer", "component", "dtype", "kernel", "operator", DEFAULT})


def asks_for_pieces(levels: Collection[str] | None) -> bool:
    """Return whether a level distinguishes inline pieces; None means all levels."""
    return levels is None or not _ASKING.isdisjoint(levels)


def levels_asked(by: Iterable[str], where: Iterable[str]) -> frozenset[str]:
    """Return the levels that rows are grouped and filtered by.

    Raises InputError for a text that is not a filter.
    """
    return frozenset(by) | {each.level for each in parse_filters(tuple(where))}


def uncounted_pieces(analysis: Analysis, levels: Collection[str]) -> Int:
    """Return the rows that do not count as spans at these levels.

    A snapshot always has the pieces; an analysis of the image only if a level needs them.
    """
    if asks_for_pieces(levels) or not analysis.has_pieces:
        return np.zeros(0, np.int64)
    label = analysis.label("analyzer")
    is_inline = [label.texts.raw(i) == INLINE for i in range(len(label.texts))]
    return np.flatnonzero(np.array(is_inline or [False])[label.ids])


def span_counts(analysis: Analysis, levels: Collection[str]) -> Counts:
    """Return the number of spans of each row at these levels."""
    uncounted = uncounted_pieces(analysis, levels)
    if not len(uncounted):
        return analysis.count
    count = analysis.count.copy()
    count[uncounted] = 0
    return count
