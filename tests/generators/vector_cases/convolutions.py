"""Cases of convolutions and adaptive pooling."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .recorder import Recorder, operator
from .tensors import ALL, FLOATING, INF, NAN, grid, layouts, operands, values


def arguments(
    image: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    *,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (),
    dilation: Sequence[int] = (),
    transposed: Sequence[int] = (),
    groups: int = 1,
) -> tuple[object, ...]:
    """Return the arguments of aten::convolution.

    stride:     one number for each dimension of the image
    transposed: the output padding of a transposed convolution; empty for a plain one
    """
    zeros, ones = [0] * len(stride), [1] * len(stride)
    options = list(stride), list(padding) or zeros, list(dilation) or ones
    return image, weight, bias, *options, bool(transposed), list(transposed) or zeros, groups


@operator("aten::convolution")
def convolution(r: Recorder) -> None:
    r.rounds = True
    for dtype in ALL:
        image, weight = operands(dtype, 1, 2, 5, 4), operands(dtype, 3, 2, 3, 2, seed=1)
        r.case(*arguments(image, weight))
        r.case(*arguments(image, weight, operands(dtype, 3), stride=[2, 1], padding=[1, 0]))
        r.case(*arguments(image, weight, operands(dtype, 3), padding=[2, 1], dilation=[2, 1]))
        r.case(
            *arguments(
                image, operands(dtype, 2, 1, 3, 3), operands(dtype, 2), padding=[1, 1], groups=2
            )
        )
        r.case(*arguments(image, operands(dtype, 4, 1, 2, 2), stride=[2, 2], groups=2))
        r.case(
            *arguments(
                operands(dtype, 2, 4, 3, 3), operands(dtype, 4, 2, 2, 2), padding=[1, 1], groups=2
            )
        )
        r.case(*arguments(image, operands(dtype, 3, 2, 1, 1), operands(dtype, 3)))
        # one dimension, then three dimensions
        r.case(
            *arguments(
                operands(dtype, 2, 2, 6),
                operands(dtype, 3, 2, 3),
                operands(dtype, 3),
                stride=[1],
                padding=[1],
            )
        )
        r.case(
            *arguments(
                operands(dtype, 1, 2, 9),
                operands(dtype, 2, 1, 3),
                stride=[2],
                dilation=[2],
                groups=2,
            )
        )
        r.case(
            *arguments(
                operands(dtype, 1, 2, 3, 3, 3),
                operands(dtype, 2, 2, 2, 2, 2),
                operands(dtype, 2),
                stride=[1] * 3,
                padding=[1, 0, 0],
            )
        )
        # transposed
        r.case(
            *arguments(
                operands(dtype, 1, 2, 3, 3),
                operands(dtype, 2, 3, 2, 2),
                operands(dtype, 3),
                stride=[2, 2],
                transposed=[0, 0],
            )
        )
        r.case(
            *arguments(
                operands(dtype, 1, 2, 3, 3),
                operands(dtype, 2, 3, 3, 3),
                stride=[2, 2],
                padding=[1, 1],
                transposed=[1, 1],
            )
        )
        r.case(
            *arguments(
                operands(dtype, 1, 4, 3, 2),
                operands(dtype, 4, 1, 2, 3),
                operands(dtype, 2),
                stride=[1, 2],
                padding=[0, 1],
                dilation=[2, 1],
                transposed=[0, 1],
                groups=2,
            )
        )
        r.case(
            *arguments(
                operands(dtype, 2, 2, 4),
                operands(dtype, 2, 3, 3),
                operands(dtype, 3),
                stride=[2],
                padding=[1],
                transposed=[1],
            )
        )
        # a batch without images
        r.case(*arguments(operands(dtype, 0, 2, 5, 4), weight, operands(dtype, 3)))
        for other in ALL:
            if other != dtype:
                r.case(*arguments(image, operands(other, 3, 2, 3, 2)))
        r.case(*arguments(image, weight, operands("Double" if dtype == "Float" else "Float", 3)))
    for dtype in ("Float", "BFloat16"):
        for tensor in layouts(
            lambda *shape, dtype=dtype: operands(dtype, *shape), 2, 2, 4, 3
        ).values():
            r.case(
                *arguments(tensor, operands(dtype, 3, 2, 2, 2), operands(dtype, 3), padding=[1, 1])
            )
        for tensor in layouts(
            lambda *shape, dtype=dtype: operands(dtype, *shape), 3, 2, 2, 2
        ).values():
            r.case(*arguments(operands(dtype, 1, 2, 4, 3), tensor, operands(dtype, 6)[::2]))
    r.case(
        *arguments(torch.tensor([[[[1.0, INF, NAN, 0.0]]]]), torch.ones(1, 1, 1, 2), padding=[0, 1])
    )
    r.case(
        *arguments(
            values("Float", 1, 8, 9, 9),
            values("Float", 8, 1, 3, 3),
            stride=[2, 2],
            padding=[1, 1],
            groups=8,
        )
    )
    r.case(
        *arguments(values("Float", 1, 8, 6, 6), values("Float", 24, 8, 1, 1), values("Float", 24))
    )
    # More unfolded columns than the kernel stores at a time.
    r.case(
        *arguments(
            grid("Float", 1, 8, 40, 41), grid("Float", 3, 8, 3, 3), grid("Float", 3), padding=[1, 1]
        )
    )
    r.case(*arguments(grid("Float", 3, 5, 24, 24), grid("Float", 2, 5, 5, 5), padding=[2, 2]))
    image, weight = operands("Float", 1, 2, 5, 4), operands("Float", 3, 2, 3, 2)
    r.case(*arguments(image, weight, stride=[1], padding=[1]))
    r.refuse(*arguments(image, operands("Float", 3, 3, 3, 2)))
    r.refuse(*arguments(image, weight, operands("Float", 2)))
    r.refuse(*arguments(image, weight, stride=[0, 1]))
    r.refuse(*arguments(image, weight, padding=[-1, 0]))
    r.refuse(*arguments(image, weight, groups=2))
    r.refuse(*arguments(image, operands("Float", 3, 2, 7, 2)))
    r.refuse(*arguments(image, weight, groups=0))
    r.refuse(*arguments(operands("Float", 2, 5, 4, 1)[..., 0, 0], weight))


@operator("aten::conv2d")
def conv2d(r: Recorder) -> None:
    for dtype in ALL:
        image, weight = operands(dtype, 2, 2, 5, 4), operands(dtype, 4, 2, 3, 3, seed=1)
        r.case(image, weight)
        r.case(image, weight, operands(dtype, 4))
        r.case(image, weight, operands(dtype, 4), [2, 1], [1, 2])
        r.case(image, weight, operands(dtype, 4), [1, 1], [2, 2], [2, 2])
        r.case(image, operands(dtype, 2, 1, 3, 3), operands(dtype, 2), [1, 1], [1, 1], [1, 1], 2)
        r.case(image[0], weight, operands(dtype, 4), [1, 1], [1, 1])
        r.case(image.transpose(2, 3), weight, None, [1, 1], [1, 1])
    r.case(operands("Float", 1, 2, 4, 4), operands("Float", 2, 2, 3, 3), None, [2], [1], [1])
    r.refuse(operands("Float", 4), operands("Float", 4, 2, 3, 3))


@operator("aten::_adaptive_avg_pool2d", "aten::adaptive_avg_pool2d")
def pooling(r: Recorder) -> None:
    for dtype in ALL:
        for output in ([1, 1], [2, 3], [3, 2], [5, 7], [1, 4], [6, 9]):
            r.case(values(dtype, 2, 2, 5, 7), output)
        r.case(values(dtype, 2, 4, 4), [2, 2])
        r.case(values(dtype, 2, 4, 4), [1, 1])
        r.case(values(dtype, 0, 2, 4, 4), [2, 2])
        r.case(values(dtype, 1, 2, 1, 1), [1, 1])
        for tensor in layouts(
            lambda *shape, dtype=dtype: values(dtype, *shape), 2, 2, 4, 3
        ).values():
            r.case(tensor, [1, 1])
            r.case(tensor, [3, 2])
    for dtype in FLOATING:
        edges = torch.tensor([[[[1.0, INF, 2.0, NAN], [-INF, 0.0, 1.0, 3.0]]]]).to(
            operands(dtype, 1).dtype
        )
        r.case(edges, [1, 2])
        r.case(edges, [2, 4])
    r.refuse(values("Float", 4, 4), [2, 1])
    r.refuse(values("Float", 1, 2, 0, 4), [2, 1])
    r.refuse(values("Float", 1, 2, 4, 4), [1])
