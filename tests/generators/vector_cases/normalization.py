"""Cases of batch and layer normalization."""

from __future__ import annotations

from .recorder import Recorder, operator
from .tensors import ALL, FLOATING, SMALL_FLOATING, layouts, values

SHAPES = ((4, 3), (2, 3, 4), (2, 3, 2, 2), (1, 3, 2, 1, 2), (0, 3, 2))


def batch_arguments(dtype: str, channels: int = 3) -> list[object]:
    """Return weight, bias, mean and variance."""
    return [
        values(dtype, channels, seed=1, low=0, high=2),
        values(dtype, channels, seed=2),
        values(dtype, channels, seed=3),
        values(dtype, channels, seed=4, low=1, high=3),
    ]


@operator("aten::_native_batch_norm_legit_no_training", "aten::batch_norm")
def batch_norm(r: Recorder) -> None:
    r.rounds = True
    training, last = ((), ()) if r.name.startswith("aten::_native") else ((False,), (False,))
    for dtype in ALL:
        # PyTorch does not refuse integers in tensors without elements.
        for shape in SHAPES if dtype in FLOATING else SHAPES[:-1]:
            weight, bias, mean, variance = batch_arguments(dtype)
            r.case(values(dtype, *shape), weight, bias, mean, variance, *training, 0.1, 1e-5, *last)
            r.case(values(dtype, *shape), None, None, mean, variance, *training, 0.1, 1e-3, *last)
        r.case(values(dtype, 2, 3), weight, None, mean, variance, *training, 0.1, 1e-5, *last)
        r.case(values(dtype, 2, 3), None, bias, mean, variance, *training, 0.1, 1e-5, *last)
        # PyTorch rounds each intermediate result of a strided tensor to 16 bits unless the
        # parameters are Float.
        parameters = batch_arguments("Float" if dtype in SMALL_FLOATING else dtype)
        for tensor in layouts(
            lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 2, 2
        ).values():
            r.case(tensor, *parameters, *training, 0.1, 1e-5, *last)
        strided = [values(dtype, 6, seed=i, low=1, high=3)[::2] for i in range(4)]
        r.case(values(dtype, 2, 3, 4), *strided, *training, 0.1, 1e-5, *last)
        if dtype != "Float":
            r.case(values(dtype, 2, 3, 4), *batch_arguments("Float"), *training, 0.1, 1e-5, *last)
            r.case(values("Float", 2, 3, 4), *batch_arguments(dtype), *training, 0.1, 1e-5, *last)
    if training:  # the inner operator does not check its arguments
        r.refuse(values("Float", 2, 3), *batch_arguments("Float", 2), *training, 0.1, 1e-5, *last)


@operator("aten::native_layer_norm", "aten::layer_norm")
def layer_norm(r: Recorder) -> None:
    r.rounds = True
    for dtype in ALL:
        for shape, normalized in (
            ((3, 4), [4]),
            ((2, 3, 4), [4]),
            ((2, 3, 4), [3, 4]),
            ((5,), [5]),
            ((2, 3, 4), [2, 3, 4]),
            ((0, 4), [4]),
        ):
            weight, bias = values(dtype, *normalized, seed=1), values(dtype, *normalized, seed=2)
            r.case(values(dtype, *shape), normalized, weight, bias, 1e-5)
            r.case(values(dtype, *shape), normalized, None, None, 1e-5)
            r.case(values(dtype, *shape), normalized, weight, None, 1e-3)
            r.case(values(dtype, *shape), normalized, None, bias, 1e-3)
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4).values():
            r.case(tensor, [4], values(dtype, 8, seed=1)[::2], values(dtype, 4, seed=2), 1e-5)
    for dtype in SMALL_FLOATING:
        r.case(values(dtype, 3, 4), [4], values("Float", 4), values("Float", 4, seed=1), 1e-5)
    for dtype in FLOATING:
        for size in (37, 300):
            r.case(values(dtype, 2, size), [size], values(dtype, size), values(dtype, size), 1e-5)
        r.case(values(dtype, 1).expand(2, 4), [4], None, None, 1e-5)
    if r.name == "aten::layer_norm":
        r.case(values("Float", 2, 4), [4])
        r.case(values("Float", 2, 4), [4], values("Float", 4))
    r.refuse(values("Float", 3, 4), [3], None, None, 1e-5)
    r.refuse(values("Float", 3, 4), [4], values("Float", 3), None, 1e-5)
    r.refuse(values("Float", 4), [3, 4], None, None, 1e-5)
