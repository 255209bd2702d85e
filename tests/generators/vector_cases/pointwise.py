"""Turns operators on two tensors, or a tensor and a number, into cases."""

from __future__ import annotations

import numpy as np
import torch

from .recorder import Recorder, Ref, Script, operator
from .tensors import ALL, DTYPES, FLOATING, INF, INTEGRAL, NAN, layouts, pairs, scalar, special, values

NUMBERS = (2, -3, 0, 2.5, -1.5, True, False, INF, NAN)

ARITHMETIC = ("aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor", "aten::div.Tensor")
BITWISE = ("aten::bitwise_and.Tensor", "aten::bitwise_xor.Tensor", "aten::__and__.Tensor")


def two_tensors(r: Recorder) -> None:
    """Dtype pairs, broadcasting, layouts, tensors without dimensions and without elements, shapes that do not fit."""
    for first, second in pairs():
        r.case(values(first, 3, 1), values(second, 4, seed=1))
        r.case(values(first, 2, 3), scalar(second, 1))
        r.case(scalar(first, 1), values(second, 2, 3))
        r.case(scalar(first, 1), scalar(second, 1))
        r.case(values(first, 4, 3).t(), values(second, 3, 8)[:, ::2])
        r.case(values(first, 2, 1, 4).expand(2, 3, 4), values(second, 4, 3, 2).permute(2, 1, 0))
        # Longer than the pieces in which numbers are converted.
        r.case(values(first, 7), values(second, 150, 1) if first == "Int" or second == "Float" else values(second, 7))
    for dtype in ALL:
        for length in (127, 128, 129, 300):
            r.case(values(dtype, length), values("Int" if dtype != "Int" else "Short", length, seed=1))
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
    r.case(values("Float", 2, 3, 4, 2), layouts(lambda *shape: values("Float", *shape), 2, 3, 4, 2)["channels last"])
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


@operator("aten::bitwise_and.Tensor", "aten::bitwise_or.Tensor", "aten::bitwise_xor.Tensor", "aten::__and__.Tensor")
def bits(r: Recorder) -> None:
    two_tensors(r)


@operator("aten::eq.Tensor", "aten::ne.Tensor", "aten::gt.Tensor", "aten::lt.Tensor", "aten::ge.Tensor", "aten::le.Tensor")
def comparison(r: Recorder) -> None:
    two_tensors(r)
    r.case(torch.tensor([16777217, 16777216, 16777215]), torch.tensor([16777216.0] * 3))
    r.case(torch.tensor([2**53 + 1, 2**53]), torch.tensor([2.0**53] * 2, dtype=torch.float64))


@operator("aten::maximum", "aten::minimum", "aten::logical_and", "aten::logical_or")
def chosen(r: Recorder) -> None:
    two_tensors(r)
    for dtype in FLOATING:
        r.case(torch.tensor([NAN, 1.0, NAN, INF]).to(DTYPES[dtype]), torch.tensor([1.0, NAN, NAN, -INF]).to(DTYPES[dtype]))


def divisors(dtype: str, *shape: int, seed: int = 1) -> torch.Tensor:
    """No zeros: PyTorch divides integers by zero in no defined way."""
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
            r.case(numerators.reshape(8, 1), torch.tensor([1, 2, 3, info.max, info.max - 1], dtype=DTYPES[dtype]), **keywords)
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
        r.case(values(dtype, 4, 3).t().abs() if dtype in FLOATING else values(dtype, 4, 3).t(), values(dtype, 3, 8)[:, ::2])
        for number in (2, -3, 2.5, True):
            r.case(values(dtype, 2, 3, low=1, high=1) if dtype == "Bool" else values(dtype, 2, 3), number)
            r.case(number, values(dtype, 2, 3), row=dtype)
    for dtype in INTEGRAL[1:]:
        r.case(
            torch.tensor([[1], [-1], [2], [-2], [0], [3]], dtype=DTYPES[dtype]), torch.tensor([-3, -2, -1, 0, 1, 5], dtype=DTYPES[dtype])
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


@operator("aten::eq.Scalar", "aten::ne.Scalar", "aten::gt.Scalar", "aten::lt.Scalar", "aten::ge.Scalar", "aten::le.Scalar")
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
        r.case(torch.zeros(2, 0, dtype=torch.bool), values(dtype, 2, 1), values(dtype, 0), row=dtype)
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
    """A result keeps the order of its input's strides: view works on it where it works in PyTorch."""
    operator_name = name or r.name

    def body(script: Script, dtype: str, dims: tuple[int, ...], back: tuple[int, ...]) -> None:
        permuted = script.call("aten::permute", values(dtype, 2, 3, 4), list(dims))
        extra = {"aten::mul.Tensor": (3,), "aten::mul.Scalar": (3,), "aten::div.Tensor": (2,), "aten::pow.Tensor_Scalar": (2,)}
        result = script.call(operator_name, permuted, *extra.get(operator_name, ()))
        script.output(result, script.call("aten::view", script.call("aten::permute", result, list(back)), [-1]))

    for dtype in ("Float", "Int", "Half"):
        for dims, back in (((0, 2, 1), (0, 2, 1)), ((2, 0, 1), (1, 2, 0)), ((2, 1, 0), (2, 1, 0))):
            r.script(lambda s, dtype=dtype, dims=dims, back=back: body(s, dtype, dims, back), dtype)


def through(script: Script, base: Ref, view: str) -> Ref:
    """A strided view of a tensor of 4 × 6."""
    match view:
        case "transpose":
            found = script.call("aten::transpose.int", base, 0, 1)
        case "step":
            found = script.call("aten::slice.Tensor", base, 1, 1, None, 2)
        case "select":
            found = script.call("aten::select.int", base, 1, 2)
        case "rows":
            found = script.call("aten::slice.Tensor", base, 0, 1, 3)
        case "reshaped":
            found = script.call("aten::view", base, [2, 2, -1])
        case "expand":
            found = script.call("aten::expand", script.call("aten::select.int", base, 1, 2), [3, 4])
        case _:
            raise AssertionError(view)
    assert isinstance(found, Ref)
    return found


VIEWS = ("transpose", "step", "select", "rows", "reshaped", "expand")


def in_place(r: Recorder, dtype: str, *arguments: object, **keywords: object) -> None:
    """The operator on a fresh copy, and on views of one: the whole is looked at too."""

    def whole(script: Script) -> None:
        base = script.call("aten::clone", values(dtype, 4, 6))
        result = script.call(r.name, base, *arguments, **keywords)
        script.output(result, base)

    r.script(whole, dtype)
    for view in VIEWS:

        def body(script: Script, view: str = view) -> None:
            base = script.call("aten::clone", values(dtype, 4, 6))
            target = through(script, base, view)
            result = script.call(r.name, target, *arguments, **keywords)
            script.output(result, base, target)

        r.script(body, dtype)


@operator("aten::add_.Tensor", "aten::mul_.Tensor")
def added_in_place(r: Recorder) -> None:
    for first, second in pairs():
        for other in (values(second, 3, seed=1), values(second, 2, 1), scalar(second, 1)):

            def body(script: Script, first: str = first, other: torch.Tensor = other) -> None:
                target = script.call("aten::clone", values(first, 2, 3))
                script.call(r.name, target, other)
                script.output(target)

            r.script(body, first)
    for dtype in ALL:
        for number in (2, 2.5, True):
            in_place(r, dtype, number)
        in_place(r, dtype, values(dtype, 1))
        in_place(r, dtype, special(dtype)[3])
    chains(r)
    for first, second in (("Float", "Int"), ("Int", "Bool"), ("Half", "Double"), ("Long", "Byte"), ("Byte", "Long"), ("Bool", "Int")):
        in_place(r, first, scalar(second, 3))

    def itself(script: Script) -> None:
        base = script.call("aten::clone", values("Float", 3, 3))
        script.call(r.name, base, base)
        script.output(base)

    r.script(itself, "Float")

    def grows(script: Script) -> None:
        script.call(r.name, script.call("aten::clone", values("Float", 3)), values("Float", 2, 3))

    r.script(grows, "Float", must=True)
    if r.name == "aten::add_.Tensor":
        for dtype in ALL:
            for alpha in (2, 0.5):
                in_place(r, dtype, values(dtype, 1), alpha=alpha)


def random_view(script: Script, base: Ref, random: np.random.Generator) -> Ref:
    """One view of a tensor, chosen at random among those that it has."""
    shape = list(base.value.shape)
    dims = len(shape)
    dim = int(random.integers(-dims, dims)) if dims else 0
    kinds = ["unsqueeze", "alias"]
    if dims:
        kinds += ["permute", "transpose", "slice", "slice", "split", "flatten"]
        kinds += ["select", "unbind"] if shape[dim] and dims > 1 else []
        kinds += ["squeeze"] if 1 in shape else []
    kind = random.choice(kinds)
    if kind == "permute":
        found = script.call("aten::permute", base, [int(i) for i in random.permutation(dims)])
    elif kind == "transpose":
        found = script.call("aten::transpose.int", base, dim, int(random.integers(0, dims)))
    elif kind == "slice":
        start, step = int(random.integers(-shape[dim] - 1, shape[dim] + 1)), int(random.integers(1, 4))
        found = script.call("aten::slice.Tensor", base, dim, start, None if step == 1 else int(random.integers(0, 9)), step)
    elif kind == "split":
        first = int(random.integers(0, shape[dim] + 1))
        pieces = script.call("aten::split_with_sizes", base, [first, shape[dim] - first], dim)
        found = script.item(pieces, int(random.integers(-2, 2)))
    elif kind == "flatten":
        found = script.call("aten::flatten.using_ints", base, 0, -1)  # a copy where no view will do
    elif kind == "select":
        found = script.call("aten::select.int", base, dim, int(random.integers(-shape[dim], shape[dim])))
    elif kind == "unbind":
        found = script.item(script.call("aten::unbind.int", base, dim), int(random.integers(-shape[dim], shape[dim])))
    elif kind == "squeeze":
        found = script.call("aten::squeeze.dims", base, [shape.index(1)])
    elif kind == "unsqueeze":
        found = script.call("aten::unsqueeze", base, int(random.integers(-dims - 1, dims + 1)))
    else:
        found = script.call("aten::alias", base)
    assert isinstance(found, Ref)
    return found


def chains(r: Recorder) -> None:
    """Writes through views of views, chosen at random: everything that shares the memory is looked at."""
    for seed in range(150):
        random = np.random.default_rng(seed)
        dtype = str(random.choice(ALL))

        def body(script: Script, dtype: str = dtype, random: np.random.Generator = random) -> None:
            base = script.call("aten::clone", values(dtype, 3, 4, 2))
            views = [base]
            for _ in range(int(random.integers(2, 7))):
                view = random_view(script, views[int(random.integers(max(0, len(views) - 2), len(views)))], random)
                if view.value.dim() < 7:
                    views.append(view)
                if random.integers(0, 3) == 0:
                    script.call(r.name, views[-1], scalar(dtype, 1))
            script.call(r.name, views[-1], scalar("Byte", 1) if dtype != "Bool" else scalar("Bool", 1))
            script.output(*views)

        r.script(body, dtype)


@operator("aten::fill_.Scalar")
def filled(r: Recorder) -> None:
    for dtype in ALL:
        for number in (3, 0, 2.5, True, 100):
            in_place(r, dtype, number)
        if dtype != "Byte":
            in_place(r, dtype, -3)
        if dtype in FLOATING:
            for number in (NAN, INF, -INF, -0.0, 0.1):
                in_place(r, dtype, number)

        def without_dimensions(script: Script, dtype: str = dtype) -> None:
            target = script.call("aten::clone", scalar(dtype, 1))
            empty = script.call("aten::clone", values(dtype, 0, 2))
            script.call(r.name, target, 0)
            script.output(target, script.call(r.name, empty, 2))

        r.script(without_dimensions, dtype)


@operator("aten::copy_")
def copied(r: Recorder) -> None:
    for first, second in pairs():
        low = 0 if first == "Byte" else None
        sources = (values(second, 2, 3, low=low), values(second, 3, low=low), scalar(second, 1), values(second, 6, 2, low=low).t()[:, ::2])
        for source in sources:

            def body(script: Script, first: str = first, source: torch.Tensor = source) -> None:
                target = script.call("aten::clone", values(first, 2, 3, seed=1))
                script.output(script.call(r.name, target, source), target)

            r.script(body, first)
    for dtype in ALL:
        in_place(r, dtype, values(dtype, 1))
        in_place(r, dtype, scalar("Int", 7))

        def specials(script: Script, dtype: str = dtype) -> None:
            target = script.call("aten::clone", values(dtype, 8))
            script.output(script.call(r.name, target, special(dtype)))

        r.script(specials, dtype)
        for source in FLOATING:

            def truth(script: Script, source: str = source) -> None:
                target = script.call("aten::clone", values("Bool", 8))
                script.output(script.call(r.name, target, special(source)))

            r.script(truth, "Bool")
    chains(r)
    for tensor in layouts(lambda *shape: values("Float", *shape), 3, 4).values():

        def strided(script: Script, tensor: torch.Tensor = tensor) -> None:
            base = script.call("aten::clone", values("Double", 4, 6))
            target = script.call("aten::transpose.int", script.call("aten::slice.Tensor", base, 1, 0, None, 2), 0, 1)
            script.call(r.name, target, tensor)
            script.output(base)

        r.script(strided, "Double")

    def grows(script: Script) -> None:
        script.call(r.name, script.call("aten::clone", values("Float", 3)), values("Float", 2, 3))

    r.script(grows, "Float", must=True)
