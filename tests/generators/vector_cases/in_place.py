"""Cases of operators that write to their first tensor.

They write through views, and to memory that views share.
"""

from __future__ import annotations

import numpy as np
import torch

from .recorder import Recorder, Ref, Script, operator
from .tensors import ALL, FLOATING, INF, NAN, layouts, pairs, scalar, special, values


def view_of(script: Script, base: Ref, view: str) -> Ref:
    """Return a strided view of a 4 × 6 tensor."""
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
    """Record the operator on a new copy, and on views of a copy; the whole is an output, too."""

    def whole(script: Script) -> None:
        base = script.call("aten::clone", values(dtype, 4, 6))
        result = script.call(r.name, base, *arguments, **keywords)
        script.output(result, base)

    r.script(whole, dtype)
    for view in VIEWS:

        def body(script: Script, view: str = view) -> None:
            base = script.call("aten::clone", values(dtype, 4, 6))
            target = view_of(script, base, view)
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
    for first, second in (
        ("Float", "Int"),
        ("Int", "Bool"),
        ("Half", "Double"),
        ("Long", "Byte"),
        ("Byte", "Long"),
        ("Bool", "Int"),
    ):
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
    """Return a random view of a tensor."""
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
        start, step = (
            int(random.integers(-shape[dim] - 1, shape[dim] + 1)),
            int(random.integers(1, 4)),
        )
        found = script.call(
            "aten::slice.Tensor",
            base,
            dim,
            start,
            None if step == 1 else int(random.integers(0, 9)),
            step,
        )
    elif kind == "split":
        first = int(random.integers(0, shape[dim] + 1))
        pieces = script.call("aten::split_with_sizes", base, [first, shape[dim] - first], dim)
        found = script.item(pieces, int(random.integers(-2, 2)))
    elif kind == "flatten":
        found = script.call("aten::flatten.using_ints", base, 0, -1)  # copies if needed
    elif kind == "select":
        found = script.call(
            "aten::select.int", base, dim, int(random.integers(-shape[dim], shape[dim]))
        )
    elif kind == "unbind":
        found = script.item(
            script.call("aten::unbind.int", base, dim),
            int(random.integers(-shape[dim], shape[dim])),
        )
    elif kind == "squeeze":
        found = script.call("aten::squeeze.dims", base, [shape.index(1)])
    elif kind == "unsqueeze":
        found = script.call("aten::unsqueeze", base, int(random.integers(-dims - 1, dims + 1)))
    else:
        found = script.call("aten::alias", base)
    assert isinstance(found, Ref)
    return found


def chains(r: Recorder) -> None:
    """Record writes through random views of views.

    All tensors that share the memory are outputs.
    """
    for seed in range(150):
        random = np.random.default_rng(seed)
        dtype = str(random.choice(ALL))

        def body(script: Script, dtype: str = dtype, random: np.random.Generator = random) -> None:
            base = script.call("aten::clone", values(dtype, 3, 4, 2))
            views = [base]
            for _ in range(int(random.integers(2, 7))):
                view = random_view(
                    script, views[int(random.integers(max(0, len(views) - 2), len(views)))], random
                )
                if view.value.dim() < 7:
                    views.append(view)
                if random.integers(0, 3) == 0:
                    script.call(r.name, views[-1], scalar(dtype, 1))
            script.call(
                r.name, views[-1], scalar("Byte", 1) if dtype != "Bool" else scalar("Bool", 1)
            )
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
        sources = (
            values(second, 2, 3, low=low),
            values(second, 3, low=low),
            scalar(second, 1),
            values(second, 6, 2, low=low).t()[:, ::2],
        )
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
            target = script.call(
                "aten::transpose.int", script.call("aten::slice.Tensor", base, 1, 0, None, 2), 0, 1
            )
            script.call(r.name, target, tensor)
            script.output(base)

        r.script(strided, "Double")

    def grows(script: Script) -> None:
        script.call(r.name, script.call("aten::clone", values("Float", 3)), values("Float", 2, 3))

    r.script(grows, "Float", must=True)
