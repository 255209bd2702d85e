"""Cases of views: sizes, strides, and writes that are visible through views."""

from __future__ import annotations

import torch

from .recorder import Recorder, Ref, Script, operator
from .tensors import ALL, layouts, scalar, values


def output_with_strides(script: Script, result: Ref) -> None:
    """Output a tensor, and its strides, since later views depend on them."""
    script.output(result)
    for dim in range(result.value.dim()):
        if result.value.size(dim) > 1:
            script.output(script.call("aten::sym_stride.int", result, dim))


def view_case(r: Recorder, tensor: torch.Tensor, *arguments: object) -> None:
    """Record a view of a constant."""

    def shown(script: Script) -> None:
        output_with_strides(script, script.call(r.name, tensor, *arguments))

    r.script(shown)


def write_through(r: Recorder, dtype: str, shape: tuple[int, ...], *arguments: object) -> None:
    """Record writes through a view of a new tensor, and to the tensor itself."""

    def through(script: Script) -> None:
        base = script.call("aten::clone", values(dtype, *shape))
        view = script.call(r.name, base, *arguments)
        script.call("aten::fill_.Scalar", view, 1)
        script.output(base, view)

    def under(script: Script) -> None:
        base = script.call("aten::clone", values(dtype, *shape))
        view = script.call(r.name, base, *arguments)
        script.call("aten::mul_.Tensor", base, 1)
        script.call("aten::fill_.Scalar", script.call("aten::select.int", base, 0, 0), 1)
        script.output(base, view)

    def added(script: Script) -> None:
        base = script.call("aten::clone", values(dtype, *shape))
        view = script.call(r.name, base, *arguments)
        script.call("aten::add_.Tensor", view, view)
        script.call("aten::add_.Tensor", base, 1)
        script.output(base, view)

    for body in (through, under, added):
        r.script(body, dtype)


def everywhere(r: Recorder, shape: tuple[int, ...], *arguments: object) -> None:
    """Record every dtype once, and every layout in three dtypes."""
    for dtype in ALL:
        view_case(r, values(dtype, *shape), *arguments)
        write_through(r, dtype, shape, *arguments)
    if len(shape) > 1:
        for dtype in ("Float", "Byte", "Half"):
            for tensor in layouts(
                lambda *shape, dtype=dtype: values(dtype, *shape), *shape
            ).values():
                view_case(r, tensor, *arguments)


@operator("aten::view", "aten::reshape")
def view(r: Recorder) -> None:
    for size in (
        [-1],
        [2, 12],
        [4, 6],
        [2, 3, 4],
        [3, -1],
        [-1, 2],
        [1, 2, 3, 4],
        [2, 3, 1, 4],
        [6, 1, 4],
        [24, 1],
        [2, 3, 2, 2],
    ):
        everywhere(r, (2, 3, 4), size)
    for tensor, size in (
        (scalar("Float"), []),
        (scalar("Float"), [1]),
        (scalar("Float"), [-1]),
        (scalar("Int"), [1, 1, 1]),
        (values("Float", 1), []),
        (values("Float", 1, 1), []),
        (values("Float", 0), [0]),
        (values("Float", 0), [-1]),
        (values("Float", 2, 0), [0, 5]),
        (values("Float", 2, 0), [5, -1]),
        (values("Float", 2, 0, 3), [6, 0]),
        (values("Float", 2, 0, 3), [-1]),
    ):
        view_case(r, tensor, size)
    for tensor in (
        values("Float", 4, 6)[:, ::2],
        values("Float", 4, 6)[1:3],
        values("Float", 6, 4).t(),
        values("Float", 4, 1, 6)[:, :, :3],
    ):
        for size in ([-1], [2, -1], [tensor.shape[0], 1, -1], [2, 2, -1]):
            view_case(r, tensor, size)
    r.refuse(values("Float", 2, 3), [4])
    r.refuse(values("Float", 2, 3), [-1, 4])
    r.refuse(values("Float", 2, 3), [-1, -1])
    r.refuse(values("Float", 2, 3), [-2, 3])
    r.refuse(values("Float", 2, 0), [-1, 0])
    if r.name == "aten::view":
        r.refuse(values("Float", 3, 2).t(), [6])
        r.refuse(values("Float", 4, 6)[:, ::2].t(), [-1])


@operator("aten::expand")
def expand(r: Recorder) -> None:
    for dtype in ALL:
        for tensor, size in (
            (values(dtype, 3, 1), [3, 4]),
            (values(dtype, 3, 1), [-1, 4]),
            (values(dtype, 4), [2, 3, 4]),
            (values(dtype, 1, 3, 1), [2, 2, -1, 2]),
            (scalar(dtype, 1), [2, 3]),
            (scalar(dtype, 1), []),
            (values(dtype, 3, 1), [3, 0]),
            (values(dtype, 0, 1), [0, 3]),
        ):
            view_case(r, tensor, size)

        def writes_repeat(script: Script, dtype: str = dtype) -> None:
            base = script.call("aten::clone", values(dtype, 3, 1))
            view = script.call("aten::expand", base, [3, 4])
            script.call("aten::fill_.Scalar", script.call("aten::select.int", view, 1, 2), 1)
            script.output(base, view)

        r.script(writes_repeat, dtype)
    for tensor in layouts(lambda *shape: values("Float", *shape), 3, 4).values():
        view_case(r, tensor.unsqueeze(1), [2, 3, 2, 4])
    for name in ("aten::add_.Tensor", "aten::mul_.Tensor"):

        def overlaps(script: Script, name: str = name) -> None:
            view = script.call(
                "aten::expand", script.call("aten::clone", values("Float", 3, 1)), [3, 4]
            )
            script.call(name, view, 2)

        r.script(overlaps, must=True)
    r.refuse(values("Float", 3, 2), [3, 4])
    r.refuse(values("Float", 3, 1), [4])
    r.refuse(values("Float", 3, 1), [-1, 3, 1])
    r.refuse(values("Float", 3), [-2])


@operator("aten::permute")
def permute(r: Recorder) -> None:
    for dims in ([0, 1, 2], [2, 1, 0], [1, 2, 0], [-1, 0, 1], [2, 0, 1]):
        everywhere(r, (2, 3, 4), dims)
    view_case(r, scalar("Float"), [])
    view_case(r, values("Float", 3), [0])
    view_case(r, values("Float", 0, 3), [1, 0])
    r.refuse(values("Float", 2, 3), [0])
    r.refuse(values("Float", 2, 3), [0, 0])
    r.refuse(values("Float", 2, 3), [0, 2])


@operator("aten::transpose.int")
def transpose(r: Recorder) -> None:
    for dims in ((0, 1), (1, 2), (0, -1), (-2, -1), (1, 1)):
        everywhere(r, (2, 3, 4), *dims)
    view_case(r, scalar("Float"), 0, 0)
    view_case(r, scalar("Float"), 0, -1)
    view_case(r, values("Float", 0, 3), 0, 1)
    r.refuse(values("Float", 2, 3), 0, 2)
    r.refuse(values("Float", 2, 3), -3, 0)


@operator("aten::t")
def transposed(r: Recorder) -> None:
    everywhere(r, (3, 4))
    for tensor in (
        scalar("Float"),
        values("Float", 3),
        values("Float", 0, 3),
        values("Float", 1, 3),
    ):
        view_case(r, tensor)
    r.refuse(values("Float", 2, 3, 4))


@operator("aten::select.int")
def select(r: Recorder) -> None:
    for dim, index in ((0, 0), (0, 1), (1, 2), (1, -1), (2, -4), (-1, 3), (-3, -1)):
        everywhere(r, (2, 3, 4), dim, index)
    view_case(r, values("Float", 3), 0, 1)
    view_case(r, values("Float", 3, 0), 0, 1)
    r.refuse(values("Float", 2, 3), 0, 2)
    r.refuse(values("Float", 2, 3), 1, -4)
    r.refuse(values("Float", 2, 3), 2, 0)
    r.refuse(scalar("Float"), 0, 0)
    r.refuse(values("Float", 0, 3), 0, 0)


@operator("aten::slice.Tensor")
def slices(r: Recorder) -> None:
    for arguments in (
        (),
        (0,),
        (1, 1),
        (1, None, 2),
        (1, 1, 3),
        (2, 0, None, 2),
        (2, 1, 100, 3),
        (-1, -3, -1),
        (-1, -100, 2),
        (0, 1, 2**63 - 1),
        (0, 0, 2**63 - 1, 2),
        (1, 2, 1),
        (1, 5, 9),
        (1, 0, 0),
        (2, -1, None),
        (0, None, None, 5),
    ):
        everywhere(r, (2, 3, 4), *arguments)
    view_case(r, values("Float", 0, 3), 0, 0, 5)
    view_case(r, values("Float", 7), 0, -5, 6, 2)
    r.refuse(values("Float", 7), 0, 0, 5, 0)
    r.refuse(values("Float", 7), 0, 0, 5, -1)
    r.refuse(values("Float", 7), 1, 0, 5)
    r.refuse(scalar("Float"), 0, 0, 1)


@operator("aten::squeeze.dims")
def squeeze(r: Recorder) -> None:
    for dims in ([0], [1], [0, 2], [-1], [], [1, 3], [-4]):
        everywhere(r, (1, 3, 1, 2), dims)
    view_case(r, scalar("Float"), [0])
    view_case(r, scalar("Float"), [-1])
    view_case(r, values("Float", 1), [0])
    view_case(r, values("Float", 1, 0, 1), [0, 1])
    r.refuse(values("Float", 1, 2), [2])
    r.refuse(values("Float", 1, 2), [0, 0])


@operator("aten::squeeze", "aten::squeeze.dim")
def squeeze_simply(r: Recorder) -> None:
    for arguments in ((0,), (1,), (2,), (-1,), (-4,)) if r.name == "aten::squeeze.dim" else ((),):
        everywhere(r, (1, 3, 1, 2), *arguments)
    first = (0,) if r.name == "aten::squeeze.dim" else ()
    for shape in ((1,), (1, 0, 1), (1, 1, 1), (2, 3)):
        view_case(r, values("Float", *shape), *first)
    view_case(r, scalar("Float"), *first)
    if first:
        r.refuse(values("Float", 1, 2), 2)


@operator("aten::unsqueeze")
def unsqueeze(r: Recorder) -> None:
    for dim in (0, 1, 3, -1, -4, -2):
        everywhere(r, (2, 3, 4), dim)
    for dim in (0, -1):
        view_case(r, scalar("Float"), dim)
        view_case(r, values("Float", 0), dim)
    r.refuse(values("Float", 2, 3), 3)
    r.refuse(values("Float", 2, 3), -4)


def pieces(
    r: Recorder, tensor: torch.Tensor, count: int, *arguments: object, write: bool = False
) -> None:
    """Record each view of a list; with `write`, fill one view and output all of them."""

    def body(script: Script) -> None:
        base = script.call("aten::clone", tensor) if write else tensor
        items = script.call(r.name, base, *arguments)
        script.output(script.call("aten::len.t", items))
        views = [script.item(items, index) for index in range(count)]
        if write:
            script.call("aten::fill_.Scalar", script.item(items, -1), 1)
            script.output(base, *views)
        else:
            for view in views:
                output_with_strides(script, view)

    r.script(body)


@operator("aten::unbind.int")
def unbind(r: Recorder) -> None:
    for dtype in ALL:
        for dim in (0, 1, -1, -2):
            tensor = values(dtype, 2, 3)
            pieces(r, tensor, tensor.shape[dim], dim)
            pieces(r, tensor, tensor.shape[dim], dim, write=True)
    for tensor in layouts(lambda *shape: values("Float", *shape), 2, 3, 4).values():
        pieces(r, tensor, 3, 1)
        pieces(r, tensor, 4, 2)
    pieces(r, values("Float", 3), 3)
    pieces(r, values("Float", 0, 3), 0)
    pieces(r, values("Float", 2, 0), 2)
    r.refuse(values("Float", 2), 1)
    r.refuse(scalar("Float"), 0)


@operator("aten::split_with_sizes")
def split(r: Recorder) -> None:
    for dtype in ALL:
        for sizes, dim in (
            ([1, 2, 1], 0),
            ([4], 0),
            ([2, 0, 2], 0),
            ([3, 3], 1),
            ([1, 5], -1),
            ([4, 0], -2),
        ):
            pieces(r, values(dtype, 4, 6), len(sizes), sizes, dim)
            pieces(r, values(dtype, 4, 6), len(sizes), sizes, dim, write=True)
    for tensor in layouts(lambda *shape: values("Float", *shape), 2, 3, 4).values():
        pieces(r, tensor, 2, [1, 2], 1)
        pieces(r, tensor, 2, [3, 1], 2)
    pieces(r, values("Float", 0, 3), 2, [0, 0], 0)
    r.refuse(values("Float", 4), [1, 2])
    r.refuse(values("Float", 4), [-1, 5])
    r.refuse(values("Float", 4), [2, 2], 1)


@operator("aten::flatten.using_ints")
def flatten(r: Recorder) -> None:
    for dims in ((), (1,), (0, 1), (1, 2), (-2, -1), (1, 1), (0, -1)):
        everywhere(r, (2, 3, 4), *dims)
    view_case(r, scalar("Float"))
    view_case(r, values("Float", 0, 3))
    view_case(r, values("Float", 3))
    r.refuse(values("Float", 2, 3), 1, 0)
    r.refuse(values("Float", 2, 3), 0, 2)


@operator("aten::detach", "aten::alias")
def alias(r: Recorder) -> None:
    everywhere(r, (2, 3))
    everywhere(r, (4,))
    view_case(r, scalar("Float"))
    view_case(r, values("Float", 0))
