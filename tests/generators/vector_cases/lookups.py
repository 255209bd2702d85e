"""Cases of look-ups, paddings, repeats, ranges and cuts."""

from __future__ import annotations

import torch

from .recorder import Recorder, Script, operator
from .tensors import ALL, DTYPES, FLOATING, INF, NAN, layouts, scalar, special, values


@operator("aten::index_select")
def index_select(r: Recorder) -> None:
    for dtype in ALL:
        tensor = values(dtype, 3, 4, 2)
        for index in (
            torch.tensor([2, 0, 0, 1]),
            torch.tensor([1], dtype=torch.int32),
            torch.tensor(1),
            torch.zeros(0, dtype=torch.int64),
        ):
            for dim in (0, 1, 2, -1):
                r.case(tensor, dim, index % 2)
            r.case(tensor, 0, index)
        r.case(special(dtype), 0, torch.arange(7, -1, -1))
        r.case(special(dtype), 0, torch.arange(8)[::2])
        r.case(scalar(dtype, 1), 0, torch.tensor([0]))
        r.case(scalar(dtype, 1), -1, torch.tensor(0))
        r.case(values(dtype, 2, 0), 0, torch.tensor([1, 1, 0]))
        for view in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4).values():
            r.case(view, 1, torch.tensor([2, 2, 0, 1]))
            r.case(view, -1, torch.tensor([3]))
    for index in (
        torch.tensor([3]),
        torch.tensor([-1]),
        torch.tensor([[0]]),
        torch.tensor([1.0]),
        torch.tensor([True]),
    ):
        r.refuse(values("Float", 3, 2), 0, index)
    r.refuse(values("Float", 3, 2), 2, torch.tensor([0]))


@operator("aten::gather")
def gather(r: Recorder) -> None:
    places = torch.tensor([[[1, 0], [0, 1]], [[0, 0], [1, 1]]])
    for dtype in ALL:
        tensor = values(dtype, 2, 3, 4)
        for dim in (0, 1, 2, -1, -3):
            r.case(tensor, dim, places)
            r.case(tensor, dim, places[:1, :, :1])
        r.case(tensor, 2, torch.tensor([[[3, 2, 1, 0, 0, 1]]]))
        r.case(tensor, 1, torch.zeros(2, 0, 4, dtype=torch.int64))
        r.case(special(dtype), 0, torch.arange(7, -1, -1))
        r.case(scalar(dtype, 1), 0, torch.tensor(0))
        r.case(scalar(dtype, 1), 0, torch.tensor([0]))
        r.case(values(dtype, 3), 0, torch.tensor(2))
        for view in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4).values():
            r.case(view, 1, places)
    for view in layouts(lambda *shape: values("Long", *shape, low=0, high=1), 2, 2, 3).values():
        r.case(values("Float", 2, 2, 3), 1, view, row="Float")
    for index in (
        torch.tensor([[3, 0]]),
        torch.tensor([[-1, 0]]),
        torch.tensor([0]),
        torch.tensor([[0, 0, 0]]),
        torch.tensor([[1.0]]),
    ):
        r.refuse(values("Float", 3, 2), 0, index)
    r.refuse(values("Float", 3, 2), 2, torch.tensor([[0]]))


@operator("aten::constant_pad_nd")
def constant_pad_nd(r: Recorder) -> None:
    for dtype in ALL:
        tensor = values(dtype, 2, 3, 4)
        for pad in (
            [1, 2],
            [0, 0, 1, 0],
            [1, 1, 2, 2],
            [0, 1, 0, 0, 3, 0],
            [-1, 2],
            [1, -2, -1, 0],
            [-2, -2],
            [],
            [-4, 3, 1, 1],
        ):
            r.case(tensor, pad)
            r.case(tensor, pad, 2.5)
        for number in (True, 3, 0.1):
            r.case(values(dtype, 2), [1, 1], number)
        if dtype in FLOATING:
            r.case(values(dtype, 2), [1, 1], -INF)
            r.case(values(dtype, 2), [1, 1], NAN)
        if dtype not in ("Byte", "Bool"):
            r.case(values(dtype, 2), [1, 1], -3)
        r.case(values(dtype, 0), [1, 1], 1)
        r.case(values(dtype, 2, 0), [0, 0, 1, 1])
        r.case(scalar(dtype, 1), [])
        for view in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4).values():
            r.case(view, [1, 0, -1, 2])
    r.refuse(values("Float", 2, 3), [1])
    r.refuse(values("Float", 2, 3), [1, 1, 1, 1, 1, 1])
    r.refuse(values("Float", 2, 3), [-2, -2])


@operator("aten::repeat")
def repeat(r: Recorder) -> None:
    for dtype in ALL:
        for repeats in ([2, 3], [1, 1], [2, 1, 1], [3, 1, 2, 2], [1, 0], [0, 2, 1]):
            r.case(values(dtype, 2, 3), repeats)
        r.case(special(dtype), [2])
        r.case(scalar(dtype, 1), [])
        r.case(scalar(dtype, 1), [3, 2])
        r.case(values(dtype, 0, 2), [2, 2])
        r.case(values(dtype, 1, 3), [4, 1])
        for view in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4).values():
            r.case(view, [2, 1, 3])
    r.refuse(values("Float", 2, 3), [2])
    r.refuse(values("Float", 2, 3), [2, -1])


def ranges(r: Recorder, *cases: tuple[object, ...]) -> None:
    for bounds in cases:
        r.case(*bounds)
        for dtype in ALL:
            r.case(*bounds, dtype=DTYPES[dtype], row=dtype)


@operator("aten::arange")
def arange_to(r: Recorder) -> None:
    ranges(r, (5,), (0,), (4.5,), (1,), (17.0,))
    r.refuse(-1)
    r.refuse(NAN)


@operator("aten::arange.start")
def arange_from(r: Recorder) -> None:
    ranges(r, (1, 6), (2, 2), (0.5, 4), (1, 4.5), (3.0, 9.0))
    r.case(-3, 4)
    r.refuse(3, 1)
    r.refuse(0, INF)


@operator("aten::arange.start_step")
def arange_by(r: Recorder) -> None:
    ranges(
        r,
        (1, 10, 3),
        (1, 9, 2),
        (10, 0, -3),
        (5, 5, -1),
        (0, 2, 0.25),
        (2.5, 0, -0.5),
        (0.0, 50.0, 2.0),
        (0, 1, 5),
    )
    r.case(-5, 6, 4)
    r.case(2**53, 2**53 + 5, 2)
    r.case(-(2**62), 2**62, 2**61)
    r.refuse(0, 5, 0)
    r.refuse(0, 5, -1)
    r.refuse(5, 0, 1)
    r.refuse(0, INF, 1)
    r.refuse(0, NAN, 1)


def parts(r: Recorder, tensor: torch.Tensor, size: int, dim: int, count: int) -> None:
    """Record all parts of a tensor."""

    def body(script: Script) -> None:
        found = script.call(r.name, tensor, size, dim)
        assert len(found.value) == count, (r.name, tensor.shape, size, dim)
        script.output(
            *(script.item(found, index) for index in range(count)),
            script.call("aten::len.t", found),
        )

    r.script(body)


@operator("aten::split.Tensor")
def split(r: Recorder) -> None:
    for dtype in ALL:
        for size, dim, count in ((2, 0, 3), (1, 1, 4), (3, -1, 2), (5, 0, 1), (7, 1, 1), (4, 1, 1)):
            parts(r, values(dtype, 5, 4), size, dim, count)
        parts(r, values(dtype, 0, 2), 0, 0, 1)
        parts(r, values(dtype, 0, 2), 3, 0, 1)
    for tensor in layouts(lambda *shape: values("Float", *shape), 2, 3, 4).values():
        parts(r, tensor, 2, 1, 2)
    r.refuse(values("Float", 3, 2), 0, 0)
    r.refuse(values("Float", 3, 2), -1, 0)
    r.refuse(values("Float", 3, 2), 1, 2)
    r.refuse(scalar("Float", 1), 1, 0)


@operator("aten::chunk")
def chunk(r: Recorder) -> None:
    for dtype in ALL:
        for chunks, dim, count in (
            (2, 0, 2),
            (3, 0, 3),
            (4, 0, 3),
            (5, 0, 5),
            (9, 0, 5),
            (1, 1, 1),
            (3, 1, 2),
            (2, -1, 2),
        ):
            parts(r, values(dtype, 5, 4), chunks, dim, count)
        parts(r, values(dtype, 0, 2), 3, 0, 3)
    for tensor in layouts(lambda *shape: values("Float", *shape), 2, 3, 4).values():
        parts(r, tensor, 2, 1, 2)
    r.refuse(values("Float", 3, 2), 0, 0)
    r.refuse(values("Float", 3, 2), 1, 2)
    r.refuse(scalar("Float", 1), 1, 0)
