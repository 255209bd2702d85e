"""Compare an output with the expected one, within the tolerances of its dtype."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sizeguard.models.npy import Array
from sizeguard.operators.dtypes import NPY_NAMES, TOLERANCES


def numbers(array: Array) -> npt.NDArray[np.generic]:
    """Return the elements as an array that NumPy can compute with."""
    if array.dtype == "BFloat16":
        wide = np.frombuffer(array.data, "<u2").astype("<u4") << 16
        return wide.view("<f4").reshape(array.shape)
    return np.frombuffer(array.data, NPY_NAMES[array.dtype]).reshape(array.shape)


def difference(actual: Array, expected: Array, slack: float = 0.0) -> str | None:
    """Describe how a result differs from the expected one; None if it does not.

    slack: is added to the absolute tolerance
    """
    if actual.dtype != expected.dtype:
        return f"dtype {actual.dtype}, expected {expected.dtype}"
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if actual.data == expected.data:
        return None
    relative, absolute = TOLERANCES[expected.dtype]
    if relative:
        got, wanted = (numbers(array).astype(np.float64) for array in (actual, expected))
        same = np.isclose(got, wanted, rtol=relative, atol=absolute + slack, equal_nan=True)
    else:
        got, wanted = (numbers(array).astype(object) for array in (actual, expected))
        same = np.asarray(got == wanted)
    wrong = np.argwhere(~same.astype(np.bool_))
    if not len(wrong):
        return None
    first = tuple(wrong[0].tolist())
    return (
        f"{len(wrong)} of {got.size} numbers differ, at {list(first)} {got[first]},"
        f" expected {wanted[first]}"
    )
