"""Cases of reductions, running totals and softmax."""

from __future__ import annotations

import torch

from .recorder import Recorder, operator
from .tensors import ALL, DTYPES, FLOATING, INF, NAN, grid, layouts, scalar, special, values

DIMS = ([0], [1], [-1], [0, 2], [1, 2], [-1, -3], [0, 1, 2], [2, 0, 1], [], None)


def result_dtypes(r: Recorder, *arguments: object) -> None:
    """Record every dtype with every value of the argument `dtype`."""
    for source in ALL:
        for target in ALL:
            # Float to Byte is defined for positive numbers only.
            tensor = values(source, 2, 3, low=0 if target == "Byte" else None)
            r.case(tensor, *arguments, row=source, dtype=DTYPES[target])


@operator("aten::sum", "aten::mean")
def whole(r: Recorder) -> None:
    for dtype in ALL:
        for tensor in (
            values(dtype, 3, 4),
            values(dtype, 37),
            scalar(dtype, 1),
            values(dtype, 0),
            values(dtype, 2, 0, 3),
            special(dtype),
        ):
            r.case(tensor)
        if dtype in FLOATING:
            r.case(torch.tensor([1.0, INF, 2.0], dtype=DTYPES[dtype]))
            r.case(torch.tensor([1.0, NAN, 2.0], dtype=DTYPES[dtype]))
            r.case(torch.tensor([INF, -INF], dtype=DTYPES[dtype]))
        for shape in ((3, 4), (2, 3, 4)):
            for tensor in layouts(
                lambda *shape, dtype=dtype: values(dtype, *shape), *shape
            ).values():
                r.case(tensor)
    r.case(torch.full((200,), 255, dtype=torch.uint8))
    r.case(torch.full((100,), 1000.0, dtype=torch.float16), dtype=torch.float32, row="Half")
    r.case(torch.full((600,), 0.1, dtype=torch.bfloat16))
    r.case(torch.full((600,), 0.1, dtype=torch.float16))
    result_dtypes(r)


@operator("aten::sum.dim_IntList", "aten::mean.dim")
def along(r: Recorder) -> None:
    for dtype in ALL:
        for dim in DIMS:
            r.case(values(dtype, 2, 3, 4), dim)
            r.case(values(dtype, 2, 3, 4), dim, True)
        for dim in ([0], [-1], [], None):
            r.case(scalar(dtype, 1), dim)
        for dim in ([0], [1], [0, 1], []):
            r.case(values(dtype, 0, 3), dim)
            r.case(values(dtype, 0, 3), dim, True)
        r.case(special(dtype).reshape(2, 4), [1])
        r.case(special(dtype).reshape(2, 4), [0])
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 3, 4).values():
            r.case(tensor, [0])
            r.case(tensor, [1], True)
    for tensor in layouts(lambda *shape: values("Float", *shape), 2, 3, 4).values():
        for dim in ([0], [1], [2], [0, 2], [0, 1], None):
            r.case(tensor, dim)
    r.case(values("Float", 2, 2, 3, 4), [2, 3])
    r.case(values("Float", 2, 2, 3, 4), [-1, -2], True)
    for dtype in ALL:
        r.case(values(dtype, 3, 300), [1])
        r.case(values(dtype, 300, 3), [0])
        r.case(values(dtype, 4, 5, 6, 2).permute(3, 1, 0, 2), [1, -1])
    r.case(values("Float", 60, 2), [0])
    result_dtypes(r, [1])
    r.refuse(values("Float", 2, 3), [2])
    r.refuse(values("Float", 2, 3), [-3])
    r.refuse(values("Float", 2, 3), [0, 0])
    r.refuse(values("Float", 2, 3), [1, -1])


@operator("aten::any.dim", "aten::all.dim")
def any_of(r: Recorder) -> None:
    for dtype in ALL:
        mostly = values(dtype, 3, 4, low=0, high=1) > 0.7
        for tensor in (mostly.to(DTYPES[dtype]), values(dtype, 3, 4)):
            for dim in (0, 1, -1):
                r.case(tensor, dim)
                r.case(tensor, dim, True)
        r.case(torch.zeros(2, 3, dtype=DTYPES[dtype]), 1)
        r.case(special(dtype).reshape(4, 2), 1)
        for dim in (0, -1):
            r.case(scalar(dtype, 0), dim)
            r.case(scalar(dtype, 1), dim, True)
        for dim in (0, 1):
            r.case(values(dtype, 0, 3), dim)
            r.case(values(dtype, 2, 0), dim, True)
        for tensor in layouts(
            lambda *shape, dtype=dtype: values(dtype, *shape, low=0, high=1), 2, 3, 4
        ).values():
            r.case(tensor, 1)
    r.refuse(values("Float", 2, 3), 2)


@operator("aten::argmax", "aten::argmin")
def argmax(r: Recorder) -> None:
    for dtype in ALL:
        for dim in (None, 0, 1, -1):
            r.case(values(dtype, 3, 4), dim)
            r.case(values(dtype, 3, 4), dim, True)
            r.case(torch.ones(3, 2, dtype=DTYPES[dtype]), dim)
            r.case(scalar(dtype, 1), dim if dim != 1 else 0)
        r.case(values(dtype, 300))
        r.case(values(dtype, 3, 300), 1)
        r.case(special(dtype))
        r.case(special(dtype).flip(0), 0)
        r.case(torch.tensor([1, 3, 0, 3, 3, 2], dtype=DTYPES[dtype]), 0)
        r.case(torch.tensor([1, 3, 0, 3, 3, 2], dtype=DTYPES[dtype]).flip(0), None, True)
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4).values():
            r.case(tensor)
            r.case(tensor, 1)
        r.case(values(dtype, 0, 3), 1)
    for dtype in FLOATING:
        r.case(
            torch.tensor(
                [[1.0, NAN, NAN], [-INF, -INF, -INF], [NAN, INF, 0.0], [-0.0, 0.0, -1.0]],
                dtype=DTYPES[dtype],
            ),
            1,
        )
    r.refuse(values("Float", 0))
    r.refuse(values("Float", 0, 3), 0)
    r.refuse(values("Float", 2, 3), 2)


@operator("aten::any")
def any_at_all(r: Recorder) -> None:
    for dtype in ALL:
        for tensor in (
            values(dtype, 3, 4),
            scalar(dtype, 0),
            scalar(dtype, 1),
            values(dtype, 0),
            values(dtype, 2, 0),
            special(dtype),
        ):
            r.case(tensor)
        r.case(torch.zeros(2, 3, dtype=DTYPES[dtype]))
        for tensor in layouts(
            lambda *shape, dtype=dtype: values(dtype, *shape, low=0, high=1), 2, 3, 4
        ).values():
            r.case(tensor)


@operator("aten::prod.dim_int")
def product(r: Recorder) -> None:
    for dtype in ALL:
        for dim in (0, 1, 2, -1, -3):
            r.case(grid(dtype, 2, 3, 4), dim)
            r.case(grid(dtype, 2, 3, 4), dim, True)
        r.case(scalar(dtype, 2), 0)
        r.case(values(dtype, 0, 3), 0)
        r.case(values(dtype, 0, 3), 1, True)
        r.case(special(dtype).reshape(4, 2), 1)
        for tensor in layouts(lambda *shape, dtype=dtype: grid(dtype, *shape), 3, 4).values():
            r.case(tensor, 0)
            r.case(tensor, 1)
    result_dtypes(r, 1)
    r.refuse(values("Float", 2, 3), 2)


@operator("aten::var.correction")
def variance(r: Recorder) -> None:
    for dtype in ALL:
        for dim in DIMS:
            r.case(values(dtype, 2, 3, 4), dim)
            r.case(values(dtype, 2, 3, 4), dim, correction=0, keepdim=True)
        for correction in (1, 0, 2, 0.5, 3, 5, -1):
            r.case(values(dtype, 2, 3), [1], correction=correction)
        r.case(scalar(dtype, 1), None)
        r.case(scalar(dtype, 1), None, correction=0)
        r.case(values(dtype, 0, 3), [0])
        r.case(values(dtype, 0, 3), [1])
        r.case(special(dtype).reshape(2, 4), [1])
        r.case(values(dtype, 37), [0])
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 3, 4).values():
            r.case(tensor, [0])
            r.case(tensor, [1], keepdim=True)
    for dtype in ("Float", "Double"):
        r.case(values(dtype, 40) + 1000, None)
    r.refuse(values("Float", 2, 3), [2])
    r.refuse(values("Float", 2, 3), [0, 0])


def extremes(r: Recorder, dims: tuple[object, ...]) -> None:
    """Record ties, NaN, infinities and extreme integers, along each of these dimensions."""
    for dtype in ALL:
        for dim in dims:
            r.case(values(dtype, 2, 3, 4), dim)
            r.case(values(dtype, 2, 3, 4), dim, True)
        first = dims[0]
        r.case(scalar(dtype, 1), first)
        r.case(torch.ones(3, 2, dtype=DTYPES[dtype]), first)
        r.case(special(dtype), first)
        r.case(special(dtype).flip(0), first, True)
        r.case(torch.tensor([1, 3, 0, 3, 3, 0], dtype=DTYPES[dtype]), first)
        r.case(values(dtype, 3, 0), first)
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4).values():
            r.case(tensor, first)
            r.case(tensor, dims[1])
    for dtype in FLOATING:
        edges = [[1.0, NAN, NAN], [-INF, -INF, -INF], [NAN, INF, 0.0], [INF, INF, 1.0]]
        r.case(torch.tensor(edges, dtype=DTYPES[dtype]), dims[1])
        r.case(torch.tensor(edges, dtype=DTYPES[dtype]).t(), dims[0])
    r.refuse(values("Float", 0), dims[0])
    r.refuse(values("Float", 0, 3), dims[0])


@operator("aten::amax", "aten::amin")
def extreme_values(r: Recorder) -> None:
    extremes(r, ([0], [1], [-1], [0, 2], [1, 2], [2, 0, 1], []))
    r.refuse(values("Float", 2, 3), [2])
    r.refuse(values("Float", 2, 3), [1, -1])
    r.refuse(values("Float", 0, 3), [])


@operator("aten::max.dim", "aten::min.dim")
def extreme_places(r: Recorder) -> None:
    extremes(r, (0, 1, 2, -1))
    r.refuse(values("Float", 2, 3), 2)


@operator("aten::cumsum")
def cumsum(r: Recorder) -> None:
    for dtype in ALL:
        for dim in (0, 1, -1, -2):
            r.case(values(dtype, 3, 4), dim)
        r.case(values(dtype, 37), 0)
        r.case(values(dtype, 300, 2), 0)
        r.case(scalar(dtype, 1), 0)
        r.case(scalar(dtype, 1), -1)
        r.case(values(dtype, 0, 3), 0)
        r.case(values(dtype, 2, 0), 1)
        r.case(special(dtype), 0)
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4).values():
            r.case(tensor, 1)
            r.case(tensor, 2)
    result_dtypes(r, 1)
    r.refuse(values("Float", 2, 3), 2)


@operator("aten::_softmax", "aten::_log_softmax")
def inner_softmax(r: Recorder) -> None:
    r.rounds = True
    softmaxes(r, (False,))
    for dtype in ALL:
        r.case(values(dtype, 2, 3), 1, True)


@operator("aten::softmax.int", "aten::log_softmax.int")
def softmax(r: Recorder) -> None:
    r.rounds = True
    softmaxes(r, ())
    for source in ALL:
        for target in ALL:
            r.case(values(source, 2, 3), 1, row=source, dtype=DTYPES[target])


def softmaxes(r: Recorder, last: tuple[object, ...]) -> None:
    for dtype in ALL:
        for dim in (0, 1, 2, -1, -3):
            r.case(values(dtype, 2, 3, 4), dim, *last)
        for dim in (0, -1):
            r.case(scalar(dtype, 1), dim, *last)
            if dtype in FLOATING:  # PyTorch does not refuse the others without elements
                r.case(values(dtype, 0), dim, *last)
                r.case(values(dtype, 2, 0, 3), dim, *last)
        r.case(values(dtype, 2, 37), 1, *last)
        r.case(values(dtype, 2, 300), 1, *last)
        r.case(values(dtype, 300, 2), 0, *last)
        r.case(values(dtype, 21, 2), 0, *last)
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 3, 4).values():
            r.case(tensor, 0, *last)
            r.case(tensor, 1, *last)
    for dtype in FLOATING:
        edges = [
            [1.0, INF, 2.0],
            [1.0, -INF, 2.0],
            [-INF] * 3,
            [NAN, 1.0, 2.0],
            [1000.0, -1000.0, 0.0],
            [1e-4, 0.0, -0.0],
        ]
        r.case(torch.tensor(edges, dtype=DTYPES[dtype]), 1, *last)
        r.case(torch.tensor(edges, dtype=DTYPES[dtype]).t(), 0, *last)
    r.refuse(values("Float", 2, 3), 2, *last)
