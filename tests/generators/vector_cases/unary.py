"""Cases of pointwise operators on one tensor."""

from __future__ import annotations

import torch

from .in_place import in_place
from .pointwise import view_after
from .recorder import Recorder, Script, operator
from .tensors import ALL, DTYPES, FLOATING, INF, NAN, layouts, scalar, special, values


def edges(r: Recorder, dtype: str) -> torch.Tensor:
    """Return special values; for gelu without infinity.

    PyTorch's vectorized loop returns NaN for infinity, and the scalar loop does not.
    """
    found = special(dtype)
    return found.clamp(max=100) if r.name == "aten::gelu" and dtype in FLOATING else found


def one_tensor(r: Recorder, *arguments: object, **keywords: object) -> None:
    """Record all dtypes, special values, all layouts, no dimensions, and no elements."""
    for dtype in ALL:
        r.case(values(dtype, 3, 4), *arguments, **keywords)
        for length in (37, 128, 129, 300):
            r.case(values(dtype, length), *arguments, **keywords)
        r.case(values(dtype, 3, 200)[:, ::3], *arguments, **keywords)
        r.case(edges(r, dtype), *arguments, **keywords)
        r.case(scalar(dtype, 1), *arguments, **keywords)
        r.case(values(dtype, 0), *arguments, **keywords)
        r.case(values(dtype, 2, 0, 3), *arguments, **keywords)
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 3, 4).values():
            r.case(tensor, *arguments, **keywords)
    for dtype in ("Float", "Half"):
        for shape in ((2, 3, 4), (2, 2, 3, 2)):
            for tensor in layouts(
                lambda *shape, dtype=dtype: values(dtype, *shape), *shape
            ).values():
                r.case(tensor, *arguments, **keywords)


SIMPLE = (
    "logical_not", "relu", "sigmoid", "tanh", "sqrt", "erf", "exp", "log", "sin", "cos", "rsqrt",
    "reciprocal", "silu",
)  # fmt: skip
SIMPLE += ("hardswish", "hardsigmoid", "floor", "round", "abs", "neg", "bitwise_not")


@operator(*(f"aten::{name}" for name in SIMPLE))
def simple(r: Recorder) -> None:
    one_tensor(r)
    for dtype in FLOATING:
        steps = torch.tensor(
            [
                -100.0,
                -20.0,
                -9.0,
                -5.0,
                -3.0,
                -1.0,
                -0.5,
                -1e-3,
                -1e-7,
                1e-7,
                1e-3,
                0.5,
                1.0,
                3.0,
                5.0,
                9.0,
                20.0,
                100.0,
            ]
        )
        r.case(steps.to(DTYPES[dtype]))
    view_after(r)


@operator("aten::leaky_relu")
def leaky_relu(r: Recorder) -> None:
    one_tensor(r)
    for dtype in ALL:
        for slope in (0.2, 0, 2, -1.5, True):
            r.case(values(dtype, 3, 4), slope)
            r.case(special(dtype), slope)
    view_after(r)


@operator("aten::gelu")
def gelu(r: Recorder) -> None:
    for approximate in ("none", "tanh"):
        one_tensor(r, approximate=approximate)
        for dtype in FLOATING:
            r.case(
                torch.tensor(
                    [-100.0, -9.0, -3.0, -0.5, -1e-3, 1e-3, 0.5, 3.0, 9.0, 100.0],
                    dtype=DTYPES[dtype],
                ),
                approximate=approximate,
            )
    r.refuse(values("Float", 3), approximate="sigmoid")


@operator("aten::hardtanh")
def hardtanh(r: Recorder) -> None:
    one_tensor(r)
    for dtype in ALL:
        for low, high in ((0, 6), (-2, 2), (0.0, 6.0), (-0.5, 0.5), (1, 1), (0, INF)):
            r.case(values(dtype, 3, 4), low, high)
            r.case(special(dtype), low, high)
    view_after(r)


@operator("aten::clamp")
def clamp(r: Recorder) -> None:
    one_tensor(r, -1, 2)
    for dtype in ALL:
        bounds = (
            (0, None),
            (None, 2),
            (0, 6),
            (0.5, None),
            (None, 1.5),
            (-1.5, 2.5),
            (3, 1),
            (None, None),
            (True, None),
            (1, 2.5),
        )
        for low, high in bounds:
            r.case(values(dtype, 3, 4), low, high)
            r.case(special(dtype), low, high)
            r.case(scalar(dtype, 1), low, high)
    for dtype in FLOATING:
        r.case(special(dtype), NAN, None)
        r.case(special(dtype), 0.0, NAN)
        r.case(special(dtype), -INF, INF)
    view_after_clamp(r)


def view_after_clamp(r: Recorder) -> None:
    def body(script: Script) -> None:
        flipped = script.call("aten::transpose.int", values("Float", 2, 3, 4), 0, 2)
        result = script.call("aten::clamp", flipped, 0, 1)
        script.output(
            script.call("aten::view", script.call("aten::transpose.int", result, 0, 2), [-1])
        )

    r.script(body)


@operator("aten::relu_", "aten::hardtanh_")
def clipped_in_place(r: Recorder) -> None:
    for dtype in ALL:
        in_place(r, dtype)
        if r.name == "aten::hardtanh_":
            in_place(r, dtype, 0, 6)
            in_place(r, dtype, 0.5, 1.5)

        def specials(script: Script, dtype: str = dtype) -> None:
            target = script.call("aten::clone", special(dtype))
            empty = script.call("aten::clone", values(dtype, 0))
            number = script.call("aten::clone", scalar(dtype, 1))
            for tensor in (target, empty, number):
                script.output(script.call(r.name, tensor))

        r.script(specials, dtype)


@operator("aten::dropout")
def dropout(r: Recorder) -> None:
    one_tensor(r, 0.5, False)
    for dtype in ALL:
        r.case(values(dtype, 3, 4), 0.0, False)
        r.case(values(dtype, 3, 4), 1.0, False)

    def same_tensor(script: Script) -> None:
        base = script.call("aten::clone", values("Float", 3))
        result = script.call("aten::dropout", base, 0.5, False)
        script.call("aten::add_.Tensor", result, 1)
        script.output(base)

    r.script(same_tensor)
    r.refuse(values("Float", 3), 1.5, False)
    r.refuse(values("Float", 3), -0.5, False)
