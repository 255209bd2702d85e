"""Cases of matrix products."""

from __future__ import annotations

import torch

from .recorder import Recorder, operator
from .tensors import ALL, FLOATING, INF, NAN, grid, layouts, operands, scalar, values


def layouts_of_factors(r: Recorder, dtype: str) -> None:
    for tensor in layouts(lambda *shape: operands(dtype, *shape), 3, 4).values():
        r.case(tensor, operands(dtype, 4, 2, seed=1))
    for tensor in layouts(lambda *shape: operands(dtype, *shape), 4, 2).values():
        r.case(operands(dtype, 3, 4, seed=1), tensor)


@operator("aten::mm")
def mm(r: Recorder) -> None:
    for dtype in ALL:
        for rows, depth, columns in (
            (3, 4, 2),
            (1, 1, 1),
            (1, 5, 3),
            (7, 2, 1),
            (0, 3, 2),
            (2, 3, 0),
            (2, 0, 3),
            (5, 9, 4),
        ):
            r.case(operands(dtype, rows, depth), operands(dtype, depth, columns, seed=1))
        for other in ALL:
            if other != dtype:
                r.case(operands(dtype, 2, 3), operands(other, 3, 2))
        layouts_of_factors(r, dtype)
    # Sizes that are not multiples of a tile of a blocked product; sums of quarters are exact.
    for dtype in ("Byte", "Int", "Long", *FLOATING):
        for rows, depth, columns in (
            (17, 19, 13),
            (33, 5, 9),
            (4, 70, 6),
            (6, 300, 10),
            (1, 513, 5),
            (9, 257, 1),
            (5, 16, 40),
        ):
            r.case(grid(dtype, rows, depth), grid(dtype, depth, columns))
            r.case(grid(dtype, depth, rows).t(), grid(dtype, columns, depth).t())
    r.case(torch.tensor([[INF, 1.0], [NAN, 0.0]]), torch.tensor([[0.0, 1.0], [2.0, INF]]))
    r.refuse(operands("Float", 2, 3), operands("Float", 2, 3))
    r.refuse(operands("Float", 3), operands("Float", 3, 2))
    r.refuse(operands("Float", 1, 2, 3), operands("Float", 3, 2))


@operator("aten::bmm")
def bmm(r: Recorder) -> None:
    for dtype in ALL:
        for batch, rows, depth, columns in (
            (2, 3, 4, 2),
            (1, 1, 1, 1),
            (3, 1, 4, 2),
            (0, 2, 3, 2),
            (2, 0, 3, 2),
            (2, 3, 0, 2),
        ):
            r.case(
                operands(dtype, batch, rows, depth), operands(dtype, batch, depth, columns, seed=1)
            )
        for other in ALL:
            if other != dtype:
                r.case(operands(dtype, 2, 2, 3), operands(other, 2, 3, 2))
        for tensor in layouts(
            lambda *shape, dtype=dtype: operands(dtype, *shape), 2, 3, 4
        ).values():
            r.case(tensor, operands(dtype, 2, 4, 3, seed=1))
            r.case(operands(dtype, 2, 4, 3, seed=1).transpose(1, 2), tensor.transpose(1, 2))
    r.refuse(operands("Float", 2, 2, 3), operands("Float", 3, 3, 2))
    r.refuse(operands("Float", 2, 2, 3), operands("Float", 2, 2, 3))
    r.refuse(operands("Float", 2, 3), operands("Float", 3, 2))


@operator("aten::addmm")
def addmm(r: Recorder) -> None:
    for dtype in ALL:
        first, second = operands(dtype, 3, 4), operands(dtype, 4, 2, seed=1)
        for bias in (
            operands(dtype, 2),
            operands(dtype, 3, 2),
            operands(dtype, 3, 1),
            operands(dtype, 1, 2),
            operands(dtype, 1),
            scalar(dtype, 1),
        ):
            r.case(bias, first, second)
            r.case(bias, first, second, beta=2, alpha=3)
        r.case(operands(dtype, 4, 3).t()[:, ::2], first, second)
        for beta, alpha in (
            (0, 1),
            (1, 0),
            (-1, 2),
            (0.5, 1),
            (1, 0.5),
            (0.5, 2.0),
            (0, 0),
            (True, 1),
        ):
            r.case(operands(dtype, 2), first, second, beta=beta, alpha=alpha)
        r.case(operands(dtype, 2), operands(dtype, 3, 0), operands(dtype, 0, 2))
        r.case(operands(dtype, 2), operands(dtype, 3, 0), operands(dtype, 0, 2), beta=2)
        r.case(operands(dtype, 2), operands(dtype, 0, 4), second)
        r.case(operands(dtype, 2), operands(dtype, 4, 3).t(), operands(dtype, 2, 4).t())
        for other in ALL:
            if other != dtype:
                r.case(operands(other, 2), first, second, row=dtype)
                r.case(operands(dtype, 2), first, operands(other, 4, 2))
    for dtype in FLOATING:
        poisoned = torch.tensor([NAN, INF]).to(
            first.dtype if dtype == "BFloat16" else operands(dtype, 1).dtype
        )
        r.case(poisoned, operands(dtype, 3, 4), operands(dtype, 4, 2, seed=1), beta=0)
        r.case(poisoned, operands(dtype, 3, 4), operands(dtype, 4, 2, seed=1))
    r.case(
        operands("Float", 13),
        operands("Float", 9, 31),
        operands("Float", 31, 13),
        alpha=0.7,
        beta=1.3,
    )
    r.refuse(operands("Float", 3), operands("Float", 3, 4), operands("Float", 4, 2))
    r.refuse(operands("Float", 2), operands("Float", 3, 4), operands("Float", 3, 2))


SHAPES = (
    ((4,), (4,)),
    ((3, 4), (4,)),
    ((4,), (4, 3)),
    ((3, 4), (4, 2)),
    ((2, 3, 4), (4,)),
    ((4,), (2, 4, 3)),
    ((2, 3, 4), (4, 2)),
    ((3, 4), (2, 4, 2)),
    ((2, 3, 4), (2, 4, 2)),
    ((2, 1, 2, 3), (3, 3, 2)),
    ((1, 2, 3), (2, 3, 2)),
    ((2, 1, 2, 3), (1, 2, 3, 1)),
    ((2, 0, 4), (4, 3)),
    ((0, 2, 3), (0, 3, 2)),
    ((2, 3, 0), (0, 2)),
    ((0,), (0,)),
    ((2, 2, 2, 3), (3,)),
)


@operator("aten::matmul")
def matmul(r: Recorder) -> None:
    for dtype in ALL:
        for first, second in SHAPES:
            r.case(operands(dtype, *first), operands(dtype, *second, seed=1))
        for other in ALL:
            if other != dtype:
                r.case(operands(dtype, 2, 3), operands(other, 3, 2))
        layouts_of_factors(r, dtype)
    for tensor in layouts(lambda *shape: operands("Float", *shape), 2, 3, 4).values():
        r.case(tensor, operands("Float", 4, 2))
        r.case(tensor, tensor.transpose(1, 2))
        r.case(tensor, operands("Float", 4))
        r.case(operands("Float", 2, 3), tensor)
    r.refuse(operands("Float", 3), scalar("Float"))
    r.refuse(operands("Float", 2, 3), operands("Float", 2, 3))
    r.refuse(operands("Float", 2, 2, 3), operands("Float", 3, 3, 2))


@operator("aten::linear")
def linear(r: Recorder) -> None:
    for dtype in ALL:
        for shape in ((4,), (3, 4), (2, 3, 4), (2, 1, 3, 4), (0, 4), (2, 0, 4)):
            r.case(operands(dtype, *shape), operands(dtype, 5, 4, seed=1))
            r.case(operands(dtype, *shape), operands(dtype, 5, 4, seed=1), operands(dtype, 5))
        for other in ALL:
            if other != dtype:
                r.case(operands(dtype, 3, 4), operands(other, 5, 4))
                r.case(operands(dtype, 3, 4), operands(dtype, 5, 4), operands(other, 5))
        for tensor in layouts(lambda *shape, dtype=dtype: operands(dtype, *shape), 3, 4).values():
            r.case(tensor, operands(dtype, 2, 4, seed=1), operands(dtype, 2))
            r.case(operands(dtype, 2, 4, seed=1), tensor, operands(dtype, 6)[::2])
    for tensor in layouts(lambda *shape: operands("Float", *shape), 2, 3, 4).values():
        r.case(tensor, operands("Float", 5, 4, seed=1), operands("Float", 5))
        r.case(tensor, operands("Float", 5, 4, seed=1))
    r.case(values("Float", 9, 31), values("Float", 12, 31), values("Float", 12))
    r.refuse(operands("Float", 2, 3), operands("Float", 2, 4))
    r.refuse(operands("Float", 2, 3), operands("Float", 4, 3), operands("Float", 3))
