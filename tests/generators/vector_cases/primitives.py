"""Cases of operators on sizes, numbers and lists."""

from __future__ import annotations

import itertools

import torch

from .recorder import Recorder, Script, operator
from .tensors import ALL, DTYPES, INF, NAN, layouts, scalar, values

INTEGERS = (0, 1, -1, 2, -2, 3, 7, -7, 10, 2**31, -(2**40), 2**62)
FLOATS = (0.0, -0.0, 1.0, -1.5, 2.5, 1e300, 1e-300, INF, -INF, NAN)
DIVISIONS = ("aten::floordiv.int", "aten::remainder.int", "aten::div.int", "aten::div.float")


@operator("aten::sym_size.int", "aten::sym_stride.int")
def extents(r: Recorder) -> None:
    for dtype in ALL:
        for dim in (0, 1, 2, -1, -3):
            r.case(values(dtype, 2, 3, 4), dim)
    for tensor in layouts(lambda *shape: values("Float", *shape), 2, 3, 4).values():
        for dim in (0, 1, 2):
            r.case(tensor, dim)
    r.case(values("Float", 0, 3), 0)
    r.refuse(values("Float", 2, 3), 2)
    r.refuse(values("Float", 2, 3), -3)
    r.refuse(scalar("Float"), 0)


@operator("aten::sym_numel")
def numel(r: Recorder) -> None:
    for dtype in ALL:
        for tensor in (
            values(dtype, 2, 3, 4),
            scalar(dtype),
            values(dtype, 0, 3),
            values(dtype, 3, 1).expand(3, 5),
        ):
            r.case(tensor)


@operator(
    "aten::item",
    "aten::_local_scalar_dense",
    "aten::Bool.Tensor",
    "aten::Int.Tensor",
    "aten::Float.Tensor",
)
def numbers(r: Recorder) -> None:
    for dtype in ALL:
        for number in (0, 1, 3, 100):
            r.case(scalar(dtype, number))
        r.case(values(dtype, 1) * 0 + 1 if dtype != "Bool" else torch.tensor([True]))
        r.case(torch.ones(1, 1, 1, dtype=DTYPES[dtype]))
        r.case(torch.tensor([5, 0, 1], dtype=DTYPES[dtype])[2])
        if dtype not in ("Byte", "Bool"):
            r.case(scalar(dtype, -7))
        if dtype in ("Half", "Float", "Double", "BFloat16"):
            r.case(scalar(dtype, 2.75))
            r.case(scalar(dtype, -2.75))
            r.case(scalar(dtype, 0.1))
            if r.name != "aten::Int.Tensor":
                for number in (NAN, INF, -INF):
                    r.case(scalar(dtype, number))
    # PyTorch's kernel of _local_scalar_dense reads the first element without a check.
    if r.name != "aten::_local_scalar_dense":
        r.refuse(values("Float", 2))
        r.refuse(values("Float", 0))


@operator("aten::__getitem__.t")
def element(r: Recorder) -> None:
    for items in (
        [1, 5, 9],
        [0.5, -1.5],
        [True, False, True],
        [values("Float", 2), values("Int", 3)],
    ):
        row = "number" if not isinstance(items[0], torch.Tensor) else None
        for index in (0, 1, -1, -2):
            r.case(items, index, row=row)


@operator("aten::len.t")
def length(r: Recorder) -> None:
    for items in ([1, 5, 9], [0.5], [True, False], [values("Float", 2)], [1] * 40):
        r.case(items, row="number" if not isinstance(items[0], torch.Tensor) else None)


def fits(value: int) -> bool:
    return -(2**63) <= value < 2**63


@operator(
    *(
        "aten::add.int",
        "aten::sub.int",
        "aten::mul.int",
        "aten::floordiv.int",
        "aten::remainder.int",
        "aten::div.int",
    ),
    *("prim::max.int", "prim::min.int"),
    *(
        "aten::eq.int",
        "aten::ne.int",
        "aten::lt.int",
        "aten::le.int",
        "aten::gt.int",
        "aten::ge.int",
    ),
)
def integers(r: Recorder) -> None:
    for first, second in itertools.product(INTEGERS, INTEGERS):
        if r.name in DIVISIONS and second == 0:
            continue
        if fits(first * second) and fits(first + second) and fits(first - second):
            r.case(first, second)
    if r.name in ("aten::floordiv.int", "aten::remainder.int"):
        # The largest number divided by minus one fits; the smallest would not.
        r.case(2**63 - 1, -1)


@operator("aten::neg.int", "aten::Float.int")
def integer(r: Recorder) -> None:
    for number in (*INTEGERS, 2**53 + 1, 2**63 - 1):
        r.case(number)


@operator(
    "aten::add.float",
    "aten::sub.float",
    "aten::mul.float",
    "aten::div.float",
    "aten::lt.float",
    "aten::gt.float",
)
def floats(r: Recorder) -> None:
    for first, second in itertools.product(FLOATS, FLOATS):
        if not (r.name in DIVISIONS and second == 0):
            r.case(first, second)


@operator("aten::Int.float")
def truncated(r: Recorder) -> None:
    for number in (0.0, -0.0, 1.9, -1.9, 2.5, 1e15, -1e18, 0.999999):
        r.case(number)


@operator("aten::__not__")
def negated(r: Recorder) -> None:
    r.case(True)
    r.case(False)


@operator("aten::__and__.bool", "aten::__or__.bool")
def logic(r: Recorder) -> None:
    for first, second in itertools.product((True, False), repeat=2):
        r.case(first, second)


def passes(r: Recorder, *arguments: object, row: str | None = None, **keywords: object) -> None:
    """Record an assertion that holds; it has no result, so a later call has the output."""

    def body(script: Script) -> None:
        script.call(r.name, *arguments, **keywords)
        script.output(script.call("aten::add.int", 1, 1))

    r.script(body, row)


@operator("aten::_assert_scalar")
def assert_scalar(r: Recorder) -> None:
    for value in (True, 1, 2.5, -1):
        passes(r, value, "never seen", row="number")
    for value in (False, 0, 0.0):
        r.refuse(value, "what the model says", row="number")


@operator("aten::sym_constrain_range_for_size")
def constrain(r: Recorder) -> None:
    passes(r, 5, row="number")
    passes(r, 5, min=2, row="number")
    passes(r, 5, max=9, row="number")
    passes(r, 5, min=5, max=9, row="number")
    passes(r, 9, min=5, max=9, row="number")
    r.refuse(1, min=3, max=9, row="number")
    r.refuse(10, min=3, max=9, row="number")


@operator("aten::_assert_tensor_metadata")
def assert_metadata(r: Recorder) -> None:
    for dtype in ALL:
        tensor = values(dtype, 2, 3)
        passes(r, tensor, [2, 3], None, DTYPES[dtype])
        passes(r, tensor, None, [3, 1], DTYPES[dtype])
        passes(r, tensor, [2, 3], [3, 1])
        passes(r, tensor.t(), [3, 2], [1, 3])
        passes(r, tensor)
        r.refuse(tensor, None, None, torch.int64 if dtype != "Long" else torch.int32)
        r.refuse(tensor, [3, 2])
        r.refuse(tensor, [2, 3, 1])
        r.case(tensor, None, [1, 2])
    passes(r, scalar("Float"), [], [], torch.float32)
    passes(
        r,
        values("Float", 2),
        None,
        None,
        torch.float32,
        device=torch.device("cpu"),
        layout=torch.strided,
    )
