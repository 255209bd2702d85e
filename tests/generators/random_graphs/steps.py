"""Single steps of a graph, drawn by hypothesis.

Each function adds a step, or nothing if no value is suitable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from hypothesis import strategies as st

from .graph import Graph

Tensor = torch.Tensor
Draw = st.DrawFn

MAXIMUM_ELEMENTS = 300
DTYPES = (
    torch.float32,
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
)
DTYPES = (*DTYPES, torch.uint8, torch.bool)
STEPS: list[Callable[[Draw, Graph], None]] = []


def step(function: Callable[[Draw, Graph], None]) -> Callable[[Draw, Graph], None]:
    STEPS.append(function)
    return function


def weights(
    draw: Draw, *shape: int, dtype: torch.dtype = torch.float32, low: int = -8, high: int = 8
) -> Tensor:
    """Return a constant of small integers, or eighths of them for floats, from a drawn seed."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**16)))
    numbers = torch.randint(low, high + 1, shape, generator=generator)
    return (numbers / 8 if dtype.is_floating_point else numbers).to(dtype)


def pick(draw: Draw, graph: Graph, suits: Callable[[Tensor], bool] = lambda _: True) -> int | None:
    """Return the index of a suitable value, more often the newest one, so that graphs are deep."""
    found = [
        i
        for i, value in enumerate(graph.values)
        if suits(value) and value.numel() <= MAXIMUM_ELEMENTS
    ]
    if not found:
        return None
    return found[-1] if draw(st.booleans()) else draw(st.sampled_from(found))


def is_float(value: Tensor) -> bool:
    return value.is_floating_point()


def is_single(value: Tensor) -> bool:
    return value.dtype in (torch.float32, torch.float64)


def is_number(value: Tensor) -> bool:
    return value.dtype != torch.bool


def is_integer(value: Tensor) -> bool:
    return not value.is_floating_point() and value.dtype != torch.bool


def shape_fits(first: Tensor, second: Tensor) -> bool:
    return all(
        a == b or 1 in (a, b)
        for a, b in zip(reversed(first.shape), reversed(second.shape), strict=False)
    )


def choose(draw: Draw, items: Sequence[Callable[..., object]]) -> Callable[..., object]:
    """Choose with equal chances, since hypothesis prefers the first item and repeats itself."""
    return draw(st.randoms(use_true_random=True)).choice(items)


@step
def two_values(draw: Draw, graph: Graph) -> None:
    first = pick(draw, graph)
    if first is None:
        return
    second = pick(draw, graph, lambda v: shape_fits(v, graph.values[first]))
    kinds = (graph.values[first].dtype, graph.values[second if second is not None else first].dtype)
    operators: list[Callable[..., object]] = [torch.add, torch.mul, torch.div, torch.gt]
    if torch.bool not in kinds:
        operators += [torch.sub, lambda a, b: torch.add(a, b, alpha=2)]
    if not any(kind.is_floating_point for kind in kinds):
        operators += [torch.bitwise_and, torch.bitwise_xor, lambda a, b: a & b]
    if second is not None:
        function = choose(draw, operators)
        if function is torch.div:
            graph.add(lambda a, b: a / (b * b + 1), first, second)
        else:
            graph.add(function, first, second)


@step
def value_and_number(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, is_number)
    if value is None:
        return
    number = draw(st.sampled_from((2, 3, -1, 0.5, 1.5, -0.75)))
    divisor = draw(st.sampled_from((3, 7, 2.5)))
    operators: list[Callable[..., object]] = [
        lambda a: a + number,
        lambda a: a * number,
        lambda a: a - number,
        lambda a: a / number,
        lambda a: a % divisor,
        lambda a: a == number,
        lambda a: a != number,
        lambda a: a > number,
        lambda a: torch.clamp(a, -1, 2),
        lambda a: torch.clamp(a, min=number),
        lambda a: torch.clamp(a, max=number),
    ]
    graph.add(choose(draw, operators), value)


@step
def powers(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, is_number)
    if value is not None:
        exponent = draw(st.sampled_from((2, 3, 1, 0)))
        graph.add(lambda a: a**exponent, value)


@step
def roots(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, is_single)
    if value is not None:
        exponent = draw(st.sampled_from((0.5, -0.5, 2.7, -1)))
        graph.add(
            choose(draw, [lambda a: torch.sqrt(a * a + 1), lambda a: (a * a + 1) ** exponent]),
            value,
        )


@step
def one_value(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, is_number)
    if value is None:
        return
    operators: list[Callable[..., object]] = [
        torch.relu,
        torch.sigmoid,
        torch.tanh,
        torch.erf,
        torch.logical_not,
    ]
    if is_float(graph.values[value]):
        operators += [
            F.gelu,
            lambda a: F.gelu(a, approximate="tanh"),
            F.hardtanh,
            lambda a: F.hardtanh(a, 0.0, 6.0),
            F.relu6,
        ]
    graph.add(choose(draw, operators), value)


@step
def masks(draw: Draw, graph: Graph) -> None:
    mask = pick(draw, graph, lambda v: v.dtype == torch.bool)
    if mask is None:
        value = pick(draw, graph, is_number)
        if value is not None:
            graph.add(lambda a: a > 0, value)
        return
    value = pick(draw, graph, lambda v: shape_fits(v, graph.values[mask]))
    if value is not None:
        graph.add(lambda m, a: torch.where(m, a, a * 0), mask, value)


@step
def chosen(draw: Draw, graph: Graph) -> None:
    first = pick(draw, graph, is_number)
    if first is None:
        return
    second = pick(draw, graph, lambda v: shape_fits(v, graph.values[first]))
    if second is not None:
        graph.add(lambda a, b: torch.where(a > 1, a, b), first, second)


@step
def reductions(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, lambda v: v.dim() > 0)
    if value is None:
        return
    tensor = graph.values[value]
    dim = draw(st.integers(-tensor.dim(), tensor.dim() - 1))
    keepdim = draw(st.booleans())
    operators: list[Callable[..., object]] = [
        lambda a: a.sum(),
        lambda a: a.sum(dim, keepdim=keepdim),
        lambda a: torch.any(a, dim, keepdim=keepdim),
        lambda a: torch.cumsum(a, dim),
        lambda a: a.sum(dim, dtype=torch.float32),
        lambda a: torch.mean(a, dim, keepdim, dtype=torch.float32),
    ]
    if is_number(tensor):
        operators.append(lambda a: torch.argmax(a, dim, keepdim))
    if is_float(tensor):
        operators += [lambda a: a.mean(), lambda a: a.mean(dim, keepdim=keepdim)]
        operators += [lambda a: torch.softmax(a, dim), lambda a: torch.log_softmax(a, dim)]
    if tensor.dim() > 1:
        operators.append(lambda a: a.sum((0, -1), keepdim=keepdim))
    graph.add(choose(draw, operators), value)


@step
def views(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, lambda v: v.dim() > 0)
    if value is None:
        return
    tensor = graph.values[value]
    dims = tensor.dim()
    dim = draw(st.integers(-dims, dims - 1))
    other = draw(st.integers(-dims, dims - 1))
    order = draw(st.permutations(range(dims)))
    start, length = draw(st.integers(0, 2)), draw(st.integers(1, 4))
    operators: list[Callable[..., object]] = [
        lambda a: a.permute(order),
        lambda a: a.transpose(dim, other),
        lambda a: a.unsqueeze(dim),
        lambda a: a.flatten(),
        lambda a: a.reshape(a.shape[0], -1),
        lambda a: a.contiguous().view(a.shape[0], -1),
        lambda a: a.unsqueeze(0).expand(2, *a.shape),
        lambda a: a.detach(),
        lambda a: a.transpose(0, -1).contiguous(),
        lambda a: a.unsqueeze(dim).squeeze((dim,)),
        lambda a: a.clone(),
    ]
    if dims == 2:
        operators.append(lambda a: a.t())
    if tensor.shape[dim] > 0 and not (graph.dynamic and dim in (0, -dims)):
        operators.append(lambda a: a.select(dim, -1))
        operators.append(lambda a: torch.ops.aten.slice.Tensor(a, dim, start, start + length, 1))
        operators.append(lambda a: torch.ops.aten.slice.Tensor(a, dim, 0, 9223372036854775807, 2))
    graph.add(choose(draw, operators), value)


@step
def pieces(draw: Draw, graph: Graph) -> None:
    """Draw a call with several results, not all of which are used."""
    value = pick(draw, graph, lambda v: v.dim() > 1 and 2 <= v.shape[-1] <= 6)
    if value is None:
        return
    size = graph.values[value].shape[-1]
    graph.add(
        choose(draw, [lambda a: a.unbind(-1)[:2], lambda a: torch.split(a, [1, size - 1], -1)]),
        value,
    )


@step
def joins(draw: Draw, graph: Graph) -> None:
    first = pick(draw, graph, lambda v: v.dim() > 0)
    if first is None:
        return
    second = pick(draw, graph, lambda v: v.shape == graph.values[first].shape)
    if second is not None:
        dim = draw(st.integers(-1, graph.values[first].dim() - 1))
        graph.add(
            choose(
                draw,
                [lambda a, b: torch.cat([a, b, a], dim), lambda a, b: torch.stack([a, b], dim)],
            ),
            first,
            second,
        )


@step
def conversions(draw: Draw, graph: Graph) -> None:
    value = pick(
        draw, graph, lambda v: v.numel() == 0 or bool((v.to(torch.float64).abs() < 100).all())
    )
    if value is None:
        return
    targets = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.bool]
    if not is_float(graph.values[value]):
        targets += [torch.int64, torch.int32, torch.int16]
    target = draw(st.sampled_from(targets))
    graph.add(lambda a: a.to(target), value)


@step
def written(draw: Draw, graph: Graph) -> None:
    """Draw a copy, and a write to it through a view."""
    value = pick(draw, graph, lambda v: v.dim() > 1 and v.dtype != torch.bool and v.shape[-1] > 1)
    if value is None:
        return
    source = pick(draw, graph, lambda v: v.dim() == 0 and v.dtype == graph.values[value].dtype)
    kind = draw(st.integers(0, 6))

    def write(a: Tensor, b: Tensor | None = None) -> Tensor:
        whole = a.clone(memory_format=torch.contiguous_format)
        view = [
            lambda: whole.select(-1, 1),
            lambda: whole.transpose(0, 1),
            lambda: whole[..., ::2],
            lambda: whole.view(-1),
            lambda: whole[..., 1:],
            lambda: whole.unbind(-1)[0],
            lambda: whole.permute(*reversed(range(whole.dim()))),
        ][kind]()
        view.add_(3)
        view.mul_(2)
        if b is not None:
            view.copy_(b)
        if a.is_floating_point():
            F.hardtanh_(whole, -20, 20)
        return whole.relu_()

    graph.add(write, value, *([] if source is None else [source]))


@step
def constants(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph)
    if value is None:
        return
    number = draw(st.sampled_from((1, 2.5, 0, True)))
    operators: list[Callable[..., object]] = [
        lambda a: a + torch.full((1,), number),
        lambda a: torch.full_like(a, 2) + torch.zeros(1, dtype=torch.int32),
        lambda a: a * torch.scalar_tensor(number),
        lambda a: a + a.shape[0] if a.dim() else a + 1,
    ]
    graph.add(choose(draw, operators), value)


@step
def lookups(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, lambda v: is_integer(v) and v.numel() <= 12)
    if value is not None:
        dtype = draw(st.sampled_from((torch.float32, torch.float16, torch.bfloat16, torch.int32)))
        table = weights(draw, 5, 3, dtype=dtype)
        graph.add(lambda w, a: F.embedding((a % 5).to(torch.int64), w), value, parameters=(table,))
