"""Cases of operators on two tensors, or on a tensor and a number."""

from __future__ import annotations

import torch

from .recorder import Recorder, Script, operator
from .tensors import (
    ALL,
    DTYPES,
    FLOATING,
    INF,
    INTEGRAL,
    NAN,
    layouts,
    pairs,
    scalar,
    special,
    values,
)

NUMBERS = (2, -3, 0, 2.5, -1.5, True, False, INF, NAN)

ARITHMETIC = ("aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor", "aten::div.Tensor")
BITWISE = ("aten::bitwise_and.Tensor", "aten::bitwise_xor.Tensor", "aten::__and__.Tensor")


def two_tensors(r: Recorder) -> None:
    """Record dtype pairs, broadcasting, layouts, tensors without dimensions or elements.

    Shapes that do not fit are recorded, too.
    """
    for first, second in pairs():
        r.case(values(first, 3, 1), values(second, 4, seed=1))
        r.case(values(first, 2, 3), scalar(second, 1))
        r.case(scalar(first, 1), values(second, 2, 3))
        r.case(scalar(first, 1), scalar(second, 1))
        r.case(values(first, 4, 3).t(), values(second, 3, 8)[:, ::2])
        r.case(values(first, 2, 1, 4).expand(2, 3, 4), values(second, 4, 3, 2).permute(2, 1, 0))
        # Longer than the blocks in which kernels convert numbers.
        r.case(
            values(first, 7),
            values(second, 150, 1) if first == "Int" or second == "Float" else values(second, 7),
        )
    for dtype in ALL:
        for length in (127, 128, 129, 300):
            r.case(
                values(dtype, length), values("Int" if dtype != "Int" else "Short", length, seed=1)
            )
            r.case(values(dtype, length, 2)[:, 1], values(dtype, 2 * length, seed=1)[::2])
        r.case(special(dtype), special(dtype).flip(0))
        r.case(special(dtype).reshape(8, 1), special(dtype))
        r.case(values(dtype, 0), values(dtype, 0))
        r.case(values(dtype, 2, 0, 3), values(dtype, 1, 3))
        r.case(values(dtype, 2, 1, 3), values(dtype, 0, 1))
        r.case(values(dtype, 17), values(dtype, 17, seed=1))
        r.case(values(dtype, 4, 3).t(), values(dtype, 3, 8)[:, ::2])
        for number in (2, -3, 2.5, True):
            r.case(values(dtype, 2, 3), number)
            r.case(scalar(dtype, 1), number)
            r.case(number, values(dtype, 2, 3), row=dtype)
        r.case(values(dtype, 0, 2), 2.5)
    for dtype in ("Float", "Long", "BFloat16", "Bool"):
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 3, 4).values():
            r.case(tensor, values(dtype, 3, 4, seed=1))
            r.case(values("Int", 3, 4, seed=1), tensor)
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4).values():
            r.case(tensor, tensor)
            r.case(tensor, values(dtype, 3, 1, seed=2))
    r.case(
        values("Float", 2, 3, 4, 2),
        layouts(lambda *shape: values("Float", *shape), 2, 3, 4, 2)["channels last"],
    )
    r.case(values("Int", 2, 1, 3, 1, 2), values("Int", 3, 1, 2, 2))
    r.refuse(values("Int", 3), values("Int", 4))
    r.refuse(values("Int", 2, 3), values("Int", 3, 2))
    r.refuse(values("Int", 0), values("Int", 2))


@operator("aten::add.Tensor", "aten::sub.Tensor")
def sums(r: Recorder) -> None:
    two_tensors(r)
    for dtype in ALL:
        for alpha in (2, -1, 0, 0.5, True):
            r.case(values(dtype, 2, 3), values(dtype, 3, seed=1), alpha=alpha)
            r.case(values(dtype, 2, 3), 2, alpha=alpha)
    for first, second in pairs():
        r.case(values(first, 3), values(second, 3, seed=1), alpha=2)
    r.case(values("Float", 3), values("Int", 3), alpha=1.25)
    r.case(values("Int", 3), values("Float", 3), alpha=1.25)
    r.case(values("Int", 3), 2.5, alpha=1.25)
    r.case(values("Double", 3), values("Double", 3), alpha=1e300)


@operator("aten::mul.Tensor", "aten::div.Tensor")
def products(r: Recorder) -> None:
    two_tensors(r)
    view_after(r)


@operator(
    "aten::bitwise_and.Tensor",
    "aten::bitwise_or.Tensor",
    "aten::bitwise_xor.Tensor",
    "aten::__and__.Tensor",
)
def bits(r: Recorder) -> None:
    two_tensors(r)


@operator(
    "aten::eq.Tensor",
    "aten::ne.Tensor",
    "aten::gt.Tensor",
    "aten::lt.Tensor",
    "aten::ge.Tensor",
    "aten::le.Tensor",
)
def comparison(r: Recorder) -> None:
    two_tensors(r)
    r.case(torch.tensor([16777217, 16777216, 16777215]), torch.tensor([16777216.0] * 3))
    r.case(torch.tensor([2**53 + 1, 2**53]), torch.tensor([2.0**53] * 2, dtype=torch.float64))


@operator("aten::maximum", "aten::minimum", "aten::logical_and", "aten::logical_or")
def chosen(r: Recorder) -> None:
    two_tensors(r)
    for dtype in FLOATING:
        r.case(
            torch.tensor([NAN, 1.0, NAN, INF]).to(DTYPES[dtype]),
            torch.tensor([1.0, NAN, NAN, -INF]).to(DTYPES[dtype]),
        )


def divisors(dtype: str, *shape: int, seed: int = 1) -> torch.Tensor:
    """Return integers without zeros, since PyTorch does not define integer division by zero."""
    found = values(dtype, *shape, seed=seed)
    return found if dtype in FLOATING else torch.where(found == 0, torch.full_like(found, 3), found)


def division(r: Recorder, **keywords: object) -> None:
    for first, second in pairs():
        r.case(values(first, 3, 1), divisors(second, 4), **keywords)
        r.case(values(first, 2, 3), scalar(second, 1), **keywords)
        r.case(scalar(first, 1), divisors(second, 2, 3), **keywords)
        r.case(scalar(first, 7), scalar(second, 1), **keywords)
    for dtype in ALL:
        numerators = special(dtype)
        if dtype in FLOATING:
            r.case(numerators.reshape(8, 1), numerators, **keywords)
        elif dtype != "Bool":
            info = torch.iinfo(DTYPES[dtype])
            r.case(
                numerators.reshape(8, 1),
                torch.tensor([1, 2, 3, info.max, info.max - 1], dtype=DTYPES[dtype]),
                **keywords,
            )
        if dtype in INTEGRAL[1:]:
            r.case(
                torch.tensor([[7], [-7], [6], [-6], [0], [1]], dtype=DTYPES[dtype]),
                torch.tensor([3, -3, -1, 7], dtype=DTYPES[dtype]),
                **keywords,
            )
        r.case(values(dtype, 0), values(dtype, 0), **keywords)
        r.case(values(dtype, 2, 0, 3), divisors(dtype, 1, 3), **keywords)
        r.case(values(dtype, 17), divisors(dtype, 17), **keywords)
        r.case(values(dtype, 4, 3).t(), divisors(dtype, 3, 8)[:, ::2], **keywords)
        for number in (2, 2.5, -1.5, True):
            r.case(values(dtype, 2, 3), number, **keywords)
            r.case(number, divisors(dtype, 2, 3), row=dtype, **keywords)
        if dtype in INTEGRAL:
            r.refuse(values(dtype, 3), torch.tensor([1, 0, 2], dtype=DTYPES[dtype]), **keywords)
    for tensor in layouts(lambda *shape: values("Float", *shape), 2, 3, 4).values():
        r.case(tensor, divisors("Int", 3, 1), **keywords)
    r.refuse(values("Int", 3), divisors("Int", 4), **keywords)


@operator("aten::remainder.Tensor")
def remainders(r: Recorder) -> None:
    r.rounds = True
    division(r)


@operator("aten::div.Tensor_mode")
def rounded_division(r: Recorder) -> None:
    for mode in (None, "floor", "trunc"):
        if mode is not None:
            division(r, rounding_mode=mode)
        else:
            for first, second in pairs():
                r.case(values(first, 3, 1), values(second, 4, seed=1), rounding_mode=None)
    r.refuse(values("Float", 3), values("Float", 3), rounding_mode="ceil")


@operator("aten::pow.Tensor_Tensor")
def powers(r: Recorder) -> None:
    for first, second in pairs():
        base = values(first, 3, 1, low=0, high=5) if first in FLOATING else values(first, 3, 1)
        r.case(base, values(second, 4, seed=1))
        r.case(base, scalar(second, 1))
        r.case(scalar(first, 2), values(second, 2, 3))
        r.case(scalar(first, 1), scalar(second, 1))
    for dtype in ALL:
        r.case(special(dtype).reshape(8, 1), special(dtype))
        r.case(values(dtype, 0), values(dtype, 0))
        r.case(
            values(dtype, 4, 3).t().abs() if dtype in FLOATING else values(dtype, 4, 3).t(),
            values(dtype, 3, 8)[:, ::2],
        )
        for number in (2, -3, 2.5, True):
            r.case(
                values(dtype, 2, 3, low=1, high=1) if dtype == "Bool" else values(dtype, 2, 3),
                number,
            )
            r.case(number, values(dtype, 2, 3), row=dtype)
    for dtype in INTEGRAL[1:]:
        r.case(
            torch.tensor([[1], [-1], [2], [-2], [0], [3]], dtype=DTYPES[dtype]),
            torch.tensor([-3, -2, -1, 0, 1, 5], dtype=DTYPES[dtype]),
        )
    r.refuse(values("Int", 3), values("Int", 4))


def tensor_and_number(r: Recorder, numbers: tuple[float, ...] = NUMBERS) -> None:
    for dtype in ALL:
        for number in numbers:
            r.case(values(dtype, 2, 5), number)
            r.case(scalar(dtype, 1), number)
            r.case(special(dtype), number)
        r.case(values(dtype, 0), 2)
        r.case(values(dtype, 2, 0), 2.5)
        r.case(values(dtype, 19), 3)
    for dtype in ("Float", "Short", "Half", "Bool"):
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4).values():
            r.case(tensor, 2)
            r.case(tensor, 1.5)


@operator("aten::mul.Scalar")
def scaled(r: Recorder) -> None:
    tensor_and_number(r)
    view_after(r)


@operator(
    "aten::eq.Scalar",
    "aten::ne.Scalar",
    "aten::gt.Scalar",
    "aten::lt.Scalar",
    "aten::ge.Scalar",
    "aten::le.Scalar",
)
def compared(r: Recorder) -> None:
    tensor_and_number(r, (*NUMBERS, 255, -128))
    for dtype in FLOATING:
        r.case(torch.tensor([0.1, 0.2, 1.1], dtype=DTYPES[dtype]), 0.1)
        r.case(torch.tensor([0.1, 0.2, 1.1], dtype=DTYPES[dtype]), 1.1)
    r.case(torch.tensor([16777217, 16777216]), 16777216.0)


@operator("aten::remainder.Scalar")
def remainder(r: Recorder) -> None:
    tensor_and_number(r, (2, -3, 2.5, -1.5, True, INF, -INF, NAN, 7))
    for dtype in FLOATING:
        r.case(special(dtype), 0)
        r.case(torch.tensor([5.5, -5.5, 5.0, -5.0, 0.0], dtype=DTYPES[dtype]), 2.5)
        r.case(torch.tensor([5.5, -5.5, 5.0, -5.0, 0.0], dtype=DTYPES[dtype]), -2.5)
    for dtype in INTEGRAL[1:]:
        r.case(torch.tensor([7, -7, 6, -6, 0, 1, -1], dtype=DTYPES[dtype]), 3)
        r.case(torch.tensor([7, -7, 6, -6, 0, 1, -1], dtype=DTYPES[dtype]), -3)


@operator("aten::pow.Tensor_Scalar")
def power(r: Recorder) -> None:
    tensor_and_number(r, (0, 0.5, 1, 2, 3, -1, -0.5, 2.7, -2, 2.0, 0.0, True, INF, NAN))
    for dtype in INTEGRAL:
        r.case(torch.tensor([1, 2, 3], dtype=DTYPES[dtype]), 5)
        r.case(torch.tensor([1, 2, 3], dtype=DTYPES[dtype]), -0.5)
    view_after(r)


@operator("aten::where.self")
def where(r: Recorder) -> None:
    condition = torch.tensor([[True, False, True], [False, False, True]])
    for first, second in pairs():
        r.case(condition, values(first, 2, 3), values(second, 3, seed=1), row=first)
        r.case(condition, values(first, 2, 3), scalar(second, 1), row=first)
        r.case(condition, scalar(first, 1), values(second, 2, 1), row=first)
        r.case(condition, scalar(first, 0), scalar(second, 1), row=first)
    for dtype in ALL:
        r.case(torch.arange(8) % 3 == 0, special(dtype), special(dtype).flip(0), row=dtype)
        r.case(values(dtype, 2, 3), values("Float", 2, 3), values("Float", 3), row=dtype)
        for number in (2, 2.5, True):
            r.case(condition, values(dtype, 2, 3), number, row=dtype)
            r.case(condition, number, values(dtype, 2, 3), row=dtype)
        r.case(
            torch.zeros(2, 0, dtype=torch.bool), values(dtype, 2, 1), values(dtype, 0), row=dtype
        )
        r.case(torch.tensor(True), values(dtype, 2), values(dtype, 3, 1), row=dtype)
    for tensor in layouts(lambda *shape: values("Float", *shape), 2, 3, 4).values():
        r.case(values("Bool", 4, 3).t(), tensor, values("Int", 2, 1, 1), row="Float")
    for tensor in layouts(lambda *shape: values("Bool", *shape), 2, 3).values():
        r.case(tensor, values("Short", 2, 3), values("Short", 2, 3, seed=1), row="Short")
    r.case(condition, 1.0, 2.0, row="Float")
    r.case(condition, 1, 2, row="Long")
    r.case(condition, 1, 2.5, row="Float")
    r.refuse(condition, values("Float", 4), values("Float", 4))


def view_after(r: Recorder, name: str | None = None) -> None:
    """Record that results keep the order of the input's strides, so that the same views work."""
    operator_name = name or r.name

    def body(script: Script, dtype: str, dims: tuple[int, ...], back: tuple[int, ...]) -> None:
        permuted = script.call("aten::permute", values(dtype, 2, 3, 4), list(dims))
        extra = {
            "aten::mul.Tensor": (3,),
            "aten::mul.Scalar": (3,),
            "aten::div.Tensor": (2,),
            "aten::pow.Tensor_Scalar": (2,),
        }
        result = script.call(operator_name, permuted, *extra.get(operator_name, ()))
        script.output(
            result,
            script.call("aten::view", script.call("aten::permute", result, list(back)), [-1]),
        )

    for dtype in ("Float", "Int", "Half"):
        for dims, back in (((0, 2, 1), (0, 2, 1)), ((2, 0, 1), (1, 2, 0)), ((2, 1, 0), (2, 1, 0))):
            r.script(lambda s, dtype=dtype, dims=dims, back=back: body(s, dtype, dims, back), dtype)
