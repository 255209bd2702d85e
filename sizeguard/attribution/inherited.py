"""Find components for names without a meaning from the names around them.

The objects of a library are adjacent in an image. Local functions of C libraries can have names
that say nothing, such as MKL's xbsr_gnxn_col_mv_def_ker. If the nearest names with a component on
both sides agree, these functions get that component.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.columns.texts import Int32, Texts


def inherited_components(
    names: Texts, component: Int32, order: npt.NDArray[np.int64], libraries: npt.NDArray[np.bool_]
) -> Int32:
    """Fill in the components that are 0, except of mangled names.

    component: by name, 0 if unknown
    order:     indices of the names, sorted by place in the image
    libraries: by component, whether it is a separate library
    """
    result = component.copy()
    if not len(order):
        return result
    along = component[order]
    is_open = along == 0
    rows = np.arange(len(order))
    before = np.maximum.accumulate(np.where(is_open, -1, rows))
    after = np.minimum.accumulate(np.where(is_open, len(order), rows)[::-1])[::-1]
    ok = is_open & (before >= 0) & (after < len(order))
    left, right = along[np.maximum(before, 0)], along[np.minimum(after, len(order) - 1)]
    agrees = ok & (left == right) & libraries[left]
    fill = np.flatnonzero(agrees)
    fill = fill[names.end[order[fill]] > names.start[order[fill]]]
    start = names.start[order[fill]]
    is_mangled = (names.buffer[start] == ord("_")) & (
        names.buffer[np.minimum(start + 1, len(names.buffer) - 1)] == ord("Z")
    )
    fill = fill[~is_mangled]
    result[order[fill]] = left[fill]
    return result
