"""Cases of copies, joins, look-ups, conversions and factories."""

from __future__ import annotations

import torch

from .recorder import Recorder, Ref, Script, operator
from .tensors import ALL, DTYPES, FLOATING, INF, NAN, layouts, pairs, scalar, special, values
from .views import output_with_strides

CONTIGUOUS, PRESERVE, CHANNELS_LAST = (
    torch.contiguous_format,
    torch.preserve_format,
    torch.channels_last,
)


def with_strides(r: Recorder, tensor: torch.Tensor, *arguments: object, **keywords: object) -> None:
    """Record a call with a requested memory layout, and the strides of its result."""

    def body(script: Script) -> None:
        output_with_strides(script, script.call(r.name, tensor, *arguments, **keywords))

    r.script(body)


@operator("aten::clone", "aten::contiguous")
def clone(r: Recorder) -> None:
    for dtype in ALL:
        for tensor in (
            values(dtype, 2, 3),
            scalar(dtype, 1),
            values(dtype, 0),
            values(dtype, 2, 0),
            special(dtype),
        ):
            r.case(tensor)
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 3, 4).values():
            with_strides(r, tensor, memory_format=CONTIGUOUS)
            if r.name == "aten::clone":
                r.case(tensor)
                r.case(tensor, memory_format=PRESERVE)
    for shape in ((2, 3, 4), (2, 3, 2, 2)):
        for tensor in layouts(lambda *shape: values("Float", *shape), *shape).values():
            with_strides(r, tensor, memory_format=CONTIGUOUS)
            if len(shape) == 4:
                with_strides(r, tensor, memory_format=CHANNELS_LAST)
    for dtype in ("Float", "Byte"):

        def fresh(script: Script, dtype: str = dtype) -> None:
            base = script.call("aten::clone", values(dtype, 2, 3))
            other = script.call(r.name, base)
            turned = script.call(r.name, script.call("aten::t", base))
            for tensor in (other, turned):
                script.call("aten::fill_.Scalar", tensor, 1)
            script.output(base, other, turned)

        r.script(fresh, dtype)
    for dims in ([0, 2, 1], [2, 0, 1], [1, 0, 2]):

        def viewed(script: Script, dims: list[int] = dims) -> None:
            copy = script.call(
                r.name,
                script.call("aten::permute", values("Float", 2, 3, 4), dims),
                memory_format=CONTIGUOUS,
            )
            script.output(script.call("aten::view", copy, [-1]))

        r.script(viewed)
    r.refuse(values("Float", 2, 3), memory_format=CHANNELS_LAST)


@operator("aten::_to_copy", "aten::to.dtype")
def convert(r: Recorder) -> None:
    for source, target in pairs():
        low = 0 if target == "Byte" else None
        for tensor in (
            values(source, 2, 3, low=low),
            scalar(source, 1),
            values(source, 4, 3, low=low).t()[:, ::2],
            values(source, 0, 2),
        ):
            r.case(tensor, dtype=DTYPES[target])
        for length in (41, 129):
            r.case(values(source, length, low=low), dtype=DTYPES[target])
        r.case(values(source, 130, 3, low=low)[:, ::2], dtype=DTYPES[target])
        if source not in FLOATING or target in FLOATING or target == "Bool":
            r.case(special(source), dtype=DTYPES[target])
    # Rounding is to nearest even; too large numbers become infinity, and denormal numbers
    # are kept.
    for source in ("Float", "Double"):
        edges = [
            65504.0, 65519.0, 65520.0, 1e-8, 6e-8, 2.9802322387695312e-08, 1.0009765625,
            1.00048828125, 1.00146484375, 3.3e38, 3.4e38,
        ]  # fmt: skip
        edges += [
            -5.960464477539063e-08,
            1.00390625,
            1.01171875,
            1e-40,
            -1e-45,
            6.1e-5,
            6.09e-5,
            0.1,
        ]
        for target in FLOATING:
            r.case(torch.tensor(edges, dtype=DTYPES[source]), dtype=DTYPES[target])
    r.case(torch.tensor([16777217, 2**53 + 1, -(2**62) - 1, 2**63 - 1]), dtype=torch.float32)
    r.case(torch.tensor([16777217, 2**53 + 1, -(2**62) - 1, 2**63 - 1]), dtype=torch.float64)
    r.case(torch.tensor([2049, 2051, 65519, 65520, 4097]), dtype=torch.float16)
    r.case(torch.tensor([257, 259, 385, 65535]), dtype=torch.bfloat16)
    r.case(torch.tensor([1e300, -1e300, 1e-300], dtype=torch.float64), dtype=torch.float32)
    for tensor in layouts(lambda *shape: values("Float", *shape), 2, 3, 4).values():
        r.case(tensor, dtype=torch.float16)
        r.case(tensor, dtype=torch.float32)
    for tensor in layouts(lambda *shape: values("Int", *shape), 2, 3, 2, 2).values():
        with_strides(r, tensor, dtype=torch.float32, memory_format=CONTIGUOUS)
        with_strides(r, tensor, dtype=torch.float32, memory_format=CHANNELS_LAST)
    if r.name == "aten::_to_copy":
        for dtype in ALL:
            r.case(values(dtype, 2, 3))
    for copy in (False, True):
        for target in ("Float", "Int"):

            def shares(script: Script, copy: bool = copy, target: str = target) -> None:
                base = script.call("aten::clone", values("Float", 3))
                more = {"copy": copy} if r.name == "aten::to.dtype" else {}
                result = script.call(r.name, base, dtype=DTYPES[target], **more)
                script.call("aten::fill_.Scalar", result, 1)
                script.output(base, result)

            r.script(shares)


@operator("aten::cat", "aten::stack")
def join(r: Recorder) -> None:
    joined = r.name == "aten::cat"
    for first, second in pairs():
        r.case([values(first, 2, 3), values(second, 2, 3, seed=1)])
        r.case([values(first, 2), values(second, 2, seed=1), values(first, 2, seed=2)], -1)
    for dtype in ALL:
        for dim in (0, 1, 2, -1, -3):
            r.case([values(dtype, 2, 3, 2), values(dtype, 2, 3, 2, seed=1)], dim)
        r.case([values(dtype, 2, 3)], 1)
        r.case([special(dtype), special(dtype)])
        r.case([values(dtype, 0, 3), values(dtype, 0, 3)])
        r.case([values(dtype, 2, 3, seed=i) for i in range(20)], -1)
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 3, 4).values():
            r.case([tensor, values(dtype, 3, 4, seed=1), tensor], 1)
        if joined:
            r.case([values(dtype, 2, 3), values(dtype, 2, 1)], 1)
            r.case([values(dtype, 2, 3), values(dtype, 0, 3), values(dtype, 1, 3)], -2)
            r.case([values(dtype, 0), values(dtype, 2, 3)], 1)
            r.case([values("Float", 0), values(dtype, 2, 3), values("Double", 0)], row=dtype)
            r.case([values(dtype, 0), values(dtype, 0)])
        else:
            r.case([scalar(dtype, 1), scalar(dtype, 0)])
            r.case([values(dtype, 2, 3), values(dtype, 2, 3)], 2)
    for first, second, third in (
        ("Byte", "Char", "Half"),
        ("Bool", "Int", "Float"),
        ("Half", "BFloat16", "Int"),
        ("Long", "Half", "Double"),
    ):
        r.case([values(first, 2), values(second, 2), values(third, 2)])
    r.refuse([values("Float", 2, 3), values("Float", 2, 3)], 3)
    r.refuse([values("Float", 2, 3), values("Float", 3, 4)], 0)
    if joined:
        r.refuse([values("Float", 2, 3), values("Float", 2)], 0)
        r.refuse([scalar("Float"), scalar("Float")])
    r.refuse([], row="Float")


@operator("aten::embedding")
def embedding(r: Recorder) -> None:
    for dtype in ALL:
        weight = values(dtype, 5, 3)
        for kind in ALL:
            r.case(weight, torch.tensor([1, 0, 1]).to(DTYPES[kind]))
        for kind in ("Int", "Long"):
            index = torch.tensor([[0, 4, 2], [1, 1, 3]], dtype=DTYPES[kind])
            for indices in (
                index,
                index.t(),
                index[:, ::2],
                index[1],
                index[1, 2],
                index[:0],
                index[:1].expand(2, 3),
            ):
                r.case(weight, indices)
            r.case(weight, index, 0)
            r.case(weight, index, 4, True, True)
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 5, 3).values():
            r.case(tensor, index)
        r.case(values(dtype, 5, 0), index)
        r.case(values(dtype, 5), index)
        r.case(values(dtype, 5, 2, 2), index)
    r.refuse(values("Float", 5, 3), torch.tensor([5]))
    r.refuse(values("Float", 5, 3), torch.tensor([0, -1]))
    r.refuse(values("Float", 0, 3), torch.tensor([0]))


def numbers_of(dtype: str) -> list[float]:
    found: list[float] = [0, 3, 2.5, True, False, 100]
    if dtype != "Byte":
        found += [-3, -1.5]
    if dtype in FLOATING:
        found += [NAN, INF, -INF, 0.1, 1e30, -0.0]
    return found


@operator("aten::full")
def full(r: Recorder) -> None:
    for dtype in ALL:
        for number in numbers_of(dtype):
            r.case([2, 3], number, dtype=DTYPES[dtype], row=dtype)
        for size in ([], [0], [2, 0, 3], [4], [1, 1, 1]):
            r.case(size, 1, dtype=DTYPES[dtype], row=dtype)
    for number, row in (
        (3, "Long"),
        (2.5, "Float"),
        (True, "Bool"),
        (2**40, "Long"),
        (-(2**63), "Long"),
    ):
        r.case([2], number, row=row)
    r.case([2], 2**63 - 1, dtype=torch.int64, row="Long")
    r.refuse([2, -1], 1, row="Long")


@operator("aten::full_like")
def full_like(r: Recorder) -> None:
    for dtype in ALL:
        for number in numbers_of(dtype):
            r.case(values(dtype, 2, 3), number)
            r.case(values("Float", 2), number, dtype=DTYPES[dtype], row=dtype)
        r.case(scalar(dtype), 1)
        r.case(values(dtype, 0, 2), 1)
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3).values():
            r.case(tensor, 2)


@operator("aten::zeros", "aten::ones")
def zeros(r: Recorder) -> None:
    for dtype in (None, *ALL):
        for size in ([], [0], [2, 3], [2, 0, 3], [4]):
            r.case(size, dtype=DTYPES[dtype] if dtype else None, row=dtype or "Float")

    def fresh(script: Script) -> None:
        first, second = (script.call(r.name, [2], dtype=torch.float32) for _ in range(2))
        assert isinstance(first, Ref)
        script.call("aten::fill_.Scalar", first, 1)
        script.output(first, second)

    r.script(fresh, "Float")
    r.refuse([-1], row="Float")


@operator("aten::scalar_tensor")
def scalar_tensor(r: Recorder) -> None:
    for dtype in ALL:
        for number in numbers_of(dtype):
            # aten::full refuses numbers out of Half's range; PyTorch's shortcut here does not.
            if not (dtype == "Half" and number == 1e30):
                r.case(number, dtype=DTYPES[dtype], row=dtype)
    for number in (3, 2.5, True, 2**24 + 1):
        r.case(number, row="Float")
