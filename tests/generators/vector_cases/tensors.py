"""Tensors of a dtype, a shape and a seed.

Provides ordinary values, special values and different memory layouts.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

import numpy as np
import torch

DTYPES = {
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Half": torch.float16,
    "Float": torch.float32,
    "Double": torch.float64,
    "Bool": torch.bool,
    "BFloat16": torch.bfloat16,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
CODES = {
    "Byte": 0,
    "Char": 1,
    "Short": 2,
    "Int": 3,
    "Long": 4,
    "Half": 5,
    "Float": 6,
    "Double": 7,
    "Bool": 11,
    "BFloat16": 15,
}

ALL = tuple(DTYPES)
FLOATING = ("Half", "Float", "Double", "BFloat16")
INTEGRAL = ("Byte", "Char", "Short", "Int", "Long")
SMALL_FLOATING = ("Half", "BFloat16")

NAN, INF = float("nan"), float("inf")
SPECIAL_FLOATS = (NAN, INF, -INF, -0.0, 0.0, 1.0, -1.5, 2.0)


def values(
    dtype: str, *shape: int, seed: int = 0, low: float | None = None, high: float | None = None
) -> torch.Tensor:
    """Return small numbers, whose sums and products stay in the range of wider dtypes."""
    generator = np.random.default_rng(zlib.crc32(f"{dtype} {shape} {seed} {low} {high}".encode()))
    if dtype == "Bool":
        return torch.from_numpy(generator.integers(0, 2, shape)).to(torch.bool)
    if dtype in FLOATING:
        if low is None and high is None:
            array = generator.normal(0.0, 2.0, shape)
        else:
            array = generator.uniform(
                -4.0 if low is None else low, 4.0 if high is None else high, shape
            )
        # With three decimals, Float and Double differ, and the stored data is small.
        return torch.from_numpy(np.round(np.asarray(array), 3)).to(DTYPES[dtype])
    bottom = (0 if dtype == "Byte" else -9) if low is None else int(low)
    return torch.from_numpy(
        np.asarray(generator.integers(bottom, (9 if high is None else int(high)) + 1, shape))
    ).to(DTYPES[dtype])


def grid(dtype: str, *shape: int, seed: int = 0, bound: int = 4) -> torch.Tensor:
    """Return quarters from -1 to 1 (small integers for integral dtypes).

    Sums of their products are exact in every floating dtype.
    """
    if dtype not in FLOATING:
        return (
            values(dtype, *shape, seed=seed, high=bound)
            if dtype == "Bool"
            else values(dtype, *shape, seed=seed, low=0 if dtype == "Byte" else -bound, high=bound)
        )
    generator = np.random.default_rng(zlib.crc32(f"grid {shape} {seed} {bound}".encode()))
    return torch.from_numpy(np.asarray(generator.integers(-bound, bound + 1, shape) / 4.0)).to(
        DTYPES[dtype]
    )


def operands(dtype: str, *shape: int, seed: int = 0) -> torch.Tensor:
    """Return operands for products; in half precision, their sums are exact.

    Rounding of partial sums differs between implementations.
    """
    return (
        values(dtype, *shape, seed=seed)
        if dtype in ("Float", "Double")
        else grid(dtype, *shape, seed=seed)
    )


def special(dtype: str) -> torch.Tensor:
    """Return eight special or extreme numbers of a dtype."""
    if dtype in FLOATING:
        return torch.tensor(SPECIAL_FLOATS, dtype=DTYPES[dtype])
    if dtype == "Bool":
        return torch.tensor([True, False] * 4)
    info = torch.iinfo(DTYPES[dtype])
    return torch.tensor(
        [info.min, info.max, 0, 1, 2, 3, info.max - 1, info.min + 1], dtype=DTYPES[dtype]
    )


def scalar(dtype: str, value: float = 3) -> torch.Tensor:
    """Return a tensor without dimensions."""
    return torch.tensor(value, dtype=DTYPES[dtype])


def pairs() -> Iterator[tuple[str, str]]:
    """Yield all pairs of dtypes."""
    for first in ALL:
        for second in ALL:
            yield first, second


def layouts(make: Callable[..., torch.Tensor], *shape: int) -> dict[str, torch.Tensor]:
    """Return tensors of one shape, of at least two dimensions, by layout.

    make: returns the base tensor of a shape, which a layout views
    """
    middle = tuple(size + 1 for size in shape[1:-1])
    found = {
        "reversed": make(*reversed(shape)).permute(*reversed(range(len(shape)))),
        "step": make(*shape[:-1], 2 * shape[-1])[..., ::2],
        "offset step": make(shape[0] + 2, *shape[1:-1], 3 * shape[-1])[1:-1, ..., 2::3],
        "corner": make(shape[0] + 1, *middle, shape[-1] + 2)[
            tuple(slice(-size, None) for size in shape)
        ],
        "expanded last": make(*shape[:-1], 1).expand(shape),
        "expanded first": make(1, *shape[1:]).expand(shape),
        "one number": make(*[1] * len(shape)).expand(shape),
    }
    strides = tuple(range(len(shape), 0, -1))
    length = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    found["overlapping"] = make(length + 1).as_strided(shape, strides, 1)
    if len(shape) == 3:
        found["rotated"] = make(shape[2], shape[0], shape[1]).permute(1, 2, 0)
    if len(shape) == 4:
        found["channels last"] = make(shape[0], shape[2], shape[3], shape[1]).permute(0, 3, 1, 2)
    return found
