"""Cases of average and maximum pooling."""

from __future__ import annotations

import torch

from .recorder import Recorder, operator
from .tensors import ALL, DTYPES, FLOATING, INF, NAN, layouts, special, values

# kernel_size, stride, padding, dilation, ceil_mode
WINDOWS = (
    ([2], [], [0], [1], False),
    ([2, 2], [2, 2], [0, 0], [1, 1], False),
    ([3, 2], [2, 1], [1, 0], [1, 1], False),
    ([3], [2], [1], [1], True),
    ([2], [3], [0], [1], True),
    ([2], [2], [1], [1], True),
    ([2, 3], [1], [1], [2, 1], False),
    ([2], [1], [1], [3], True),
    ([1], [2], [0], [1], False),
    ([5, 6], [], [0], [1], False),
    ([3], [3], [1], [1], False),
)


@operator("aten::max_pool2d_with_indices", "aten::max_pool2d")
def largest(r: Recorder) -> None:
    for dtype in ALL:
        for window in WINDOWS:
            r.case(values(dtype, 1, 2, 5, 6), *window)
            r.case(values(dtype, 2, 5, 6), *window)
        r.case(special(dtype).reshape(1, 2, 4), [1, 2])
        r.case(values(dtype, 0, 2, 4, 4), [2])
        r.case(values(dtype, 2, 1, 4, 4) * 0, [2])
    for dtype in FLOATING:
        edges = [
            [1.0, NAN, NAN, -INF],
            [-INF, -INF, 2.0, -INF],
            [NAN, INF, -INF, -INF],
            [-0.0, 0.0, -INF, -INF],
        ]
        r.case(torch.tensor([edges], dtype=DTYPES[dtype]), [2])
        r.case(torch.tensor([edges], dtype=DTYPES[dtype]), [3], [1], [1])
    refuse_windows(r)
    r.refuse(values("Float", 1, 4, 4), [2], [], [0], [0])


@operator("aten::avg_pool2d")
def means(r: Recorder) -> None:
    for dtype in ALL:
        for kernel, stride, padding, dilation, ceil_mode in WINDOWS:
            if dilation == [1] or dilation == [1, 1]:
                for counts in (True, False):
                    r.case(values(dtype, 1, 2, 5, 6), kernel, stride, padding, ceil_mode, counts)
                r.case(values(dtype, 2, 5, 6), kernel, stride, padding, ceil_mode, True, 3)
        r.case(values(dtype, 2, 5, 6), [2], [2], [0], False, False, -2)
        r.case(special(dtype).reshape(1, 2, 4), [1, 2])
        r.case(values(dtype, 0, 2, 4, 4), [2])
    refuse_windows(r)
    r.refuse(values("Float", 1, 4, 4), [2], [], [0], False, True, 0)


def refuse_windows(r: Recorder) -> None:
    """Record windows that do not fit, and layouts, for both operators."""
    for dtype in ("Float", "BFloat16"):
        for tensor in layouts(
            lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4, 4
        ).values():
            r.case(tensor, [2])
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 4, 4).values():
            r.case(tensor, [3, 2], [1])
    r.refuse(values("Float", 4, 4), [2])
    r.refuse(values("Float", 1, 1, 1, 4, 4), [2])
    r.refuse(values("Float", 1, 4, 4), [5])
    r.refuse(values("Float", 1, 4, 4), [2], [], [2])
    r.refuse(values("Float", 1, 4, 4), [0])
    r.refuse(values("Float", 1, 4, 4), [2], [0])
    r.refuse(values("Float", 1, 4, 4), [2], [], [-1])
    r.refuse(values("Float", 1, 4, 4), [2, 2, 2])
    r.refuse(values("Float", 1, 0, 4), [2])
