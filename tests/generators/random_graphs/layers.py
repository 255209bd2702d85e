"""Layers with weights, attention and branches, drawn by hypothesis."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from hypothesis import strategies as st

from .graph import Graph
from .steps import Draw, Tensor, is_float, is_integer, is_number, pick, step, weights


@step
def linear(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, lambda v: is_float(v) and v.dim() > 0 and 0 < v.shape[-1] <= 24)
    if value is None:
        return
    tensor = graph.values[value]
    outputs = draw(st.integers(1, 6))
    weight = weights(draw, outputs, tensor.shape[-1], dtype=tensor.dtype)
    if draw(st.booleans()):
        graph.add(
            lambda w, b, a: F.linear(a, w, b),
            value,
            parameters=(weight, weights(draw, outputs, dtype=tensor.dtype)),
        )
    else:
        graph.add(lambda w, a: F.linear(a, w), value, parameters=(weight,))


@step
def products(draw: Draw, graph: Graph) -> None:
    value = pick(
        draw, graph, lambda v: is_number(v) and v.dim() in (2, 3) and 0 < v.shape[-1] <= 12
    )
    if value is None:
        return
    tensor = graph.values[value]
    second = weights(
        draw, tensor.shape[-1], draw(st.integers(1, 4)), dtype=tensor.dtype, low=-3, high=3
    )
    if tensor.dtype == torch.uint8:
        second = second.abs()
    kind = draw(st.integers(0, 3))
    if tensor.dim() == 3:
        graph.add(
            [lambda b, a: a @ b, lambda b, a: torch.bmm(a, a.transpose(1, 2))][kind % 2],
            value,
            parameters=(second,),
        )
    elif kind == 0:
        graph.add(lambda b, a: torch.mm(a, b), value, parameters=(second,))
    elif kind == 1:
        bias = weights(draw, second.shape[1], dtype=tensor.dtype)
        graph.add(
            lambda b, c, a: torch.addmm(c, a, b, beta=2, alpha=3), value, parameters=(second, bias)
        )
    else:
        graph.add(
            [lambda b, a: a @ b, lambda b, a: a @ a.t()][kind % 2], value, parameters=(second,)
        )


@step
def convolution(draw: Draw, graph: Graph) -> None:
    value = pick(
        draw,
        graph,
        lambda v: (
            v.dtype in (torch.float32, torch.float64, torch.bfloat16)
            and 2 <= v.dim() <= 4
            and v.shape[-1] > 2
        ),
    )
    if value is None:
        return
    tensor = graph.values[value]
    kind, groups = draw(st.integers(0, 3)), draw(st.sampled_from((1, 2)))
    stride, padding, dilation = (
        draw(st.integers(1, 2)),
        draw(st.integers(0, 1)),
        draw(st.integers(1, 2)),
    )
    if tensor.dim() == 4:
        channels = tensor.shape[1]
        if channels > 8 or tensor.shape[2] < 3 or tensor.shape[3] < 3 or channels == 0:
            return
        groups = groups if channels % groups == 0 else 1
        weight = weights(draw, 2 * groups, channels // groups, 2, 2, dtype=tensor.dtype)
        bias = weights(draw, 2 * groups, dtype=tensor.dtype)
        if kind == 0:
            weight = weights(draw, channels, 2, 2, 2, dtype=tensor.dtype)
            graph.add(
                lambda w, a: torch.convolution(
                    a, w, None, [stride, 2], [padding, 0], [1, 1], True, [0, 1], 1
                ),
                value,
                parameters=(weight,),
            )
        else:
            graph.add(
                lambda w, b, a: F.conv2d(a, w, b, stride, padding, dilation, groups),
                value,
                parameters=(weight, bias),
            )
    else:
        lift = 3 - tensor.dim()
        channels = tensor.shape[-2] if tensor.dim() > 1 else 1
        if channels == 0 or channels > 8:
            return
        weight = weights(draw, 3, channels, 2, dtype=tensor.dtype)

        def one_dimension(w: Tensor, a: Tensor) -> Tensor:
            for _ in range(lift):
                a = a.unsqueeze(0)
            return torch.convolution(a, w, None, [stride], [padding], [1], False, [0], 1)

        graph.add(one_dimension, value, parameters=(weight,))


@step
def images(draw: Draw, graph: Graph) -> None:
    """Draw normalization and pooling of tensors with three or four dimensions."""
    value = pick(
        draw,
        graph,
        lambda v: is_float(v) and v.dim() in (3, 4) and 0 < v.shape[1] <= 12 and v.numel() > 0,
    )
    if value is None:
        return
    tensor = graph.values[value]
    channels = tensor.shape[1]
    statistics = [weights(draw, channels, dtype=tensor.dtype, low=2, high=16) for _ in range(4)]
    kind = draw(st.integers(0, 2))
    if kind == 0:
        graph.add(
            lambda m, v, a: F.batch_norm(a, m, v), value, parameters=(statistics[0], statistics[1])
        )
    elif kind == 1:
        graph.add(
            lambda m, v, w, b, a: F.batch_norm(a, m, v, w, b), value, parameters=tuple(statistics)
        )
    else:
        size = draw(st.sampled_from(((1, 1), (2, 3), (3, 2))))
        graph.add(lambda a: F.adaptive_avg_pool2d(a, size), value)


@step
def layer_norm(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, lambda v: is_float(v) and v.dim() > 1 and v.shape[-1] > 2)
    if value is None:
        return
    tensor = graph.values[value]
    size = tensor.shape[-1]
    if draw(st.booleans()):
        parameters = (
            weights(draw, size, dtype=tensor.dtype),
            weights(draw, size, dtype=tensor.dtype),
        )
        graph.add(lambda w, b, a: F.layer_norm(a, (size,), w, b), value, parameters=parameters)
    else:
        graph.add(lambda a: F.layer_norm(a, (size,)), value)


@step
def attention(draw: Draw, graph: Graph) -> None:
    value = pick(
        draw,
        graph,
        lambda v: (
            v.dtype == torch.float32
            and v.dim() in (3, 4)
            and 0 < v.shape[-1] <= 8
            and v.shape[-2] > 0
        ),
    )
    if value is None:
        return
    causal = draw(st.booleans())
    graph.add(lambda a: F.scaled_dot_product_attention(a, a + 1, a * 2, is_causal=causal), value)


@step
def recurrence(draw: Draw, graph: Graph) -> None:
    value = pick(
        draw,
        graph,
        lambda v: (
            v.dtype == torch.float32
            and v.dim() == 3
            and 0 < v.shape[-1] <= 6
            and 0 < v.shape[0] <= 6
        ),
    )
    if value is None or graph.dynamic:
        return
    inputs, hidden = graph.values[value].shape[-1], 2
    bidirectional = draw(st.booleans())
    parameters = []
    for _ in range(1 + bidirectional):
        for shape in ((4 * hidden, inputs), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)):
            parameters.append(weights(draw, *shape))

    def lstm(*arguments: Tensor) -> tuple[Tensor, ...]:
        *layers, sequence = arguments
        zeros = torch.zeros(1 + bidirectional, sequence.shape[1], hidden)
        return torch.lstm(
            sequence, [zeros, zeros], list(layers), True, 1, 0.0, False, bidirectional, False
        )

    graph.add(lstm, value, parameters=tuple(parameters))


@step
def branch(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, lambda v: v.dtype in (torch.float32, torch.int64) and v.dim() > 0)
    if value is None:
        return
    limit = draw(st.integers(-5, 5))

    def more(a: Tensor) -> Tensor:
        return a * 2 + 1

    def less(a: Tensor) -> Tensor:
        return a - 3

    def both(a: Tensor) -> Tensor:
        if torch.compiler.is_exporting():
            return torch.cond(a.sum() > limit, more, less, (a,))
        # Outside of export torch.cond compiles, which fails after a few branches.
        return more(a) if a.sum() > limit else less(a)

    graph.add(both, value)


@step
def dropout(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, is_float)
    if value is not None:
        graph.add(lambda a: F.dropout(a, 0.5, False), value)


@step
def quantized(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, lambda v: v.dtype == torch.float32 and v.dim() > 0)
    if value is None:
        return
    scale = draw(st.sampled_from((0.05, 0.25, 0.013)))
    zero_point = draw(st.integers(0, 20))
    ops = torch.ops.quantized_decomposed

    def there_and_back(a: Tensor) -> Tensor:
        small = ops.quantize_per_tensor(a, scale, zero_point, -128, 127, torch.int8)
        return ops.dequantize_per_tensor(small, scale, zero_point, -128, 127, torch.int8)

    graph.add(there_and_back, value)


@step
def integers(draw: Draw, graph: Graph) -> None:
    value = pick(draw, graph, is_integer)
    if value is not None:
        number = draw(st.integers(1, 7))
        graph.add(lambda a: (a * number) % 5, value)
