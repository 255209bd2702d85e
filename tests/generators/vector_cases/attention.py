"""Cases of attention and recurrent layers."""

from __future__ import annotations

import torch

from .recorder import Recorder, operator
from .tensors import ALL, DTYPES, FLOATING, INF, grid, layouts, operands, values


@operator("aten::scaled_dot_product_attention")
def attention(r: Recorder) -> None:
    r.rounds = True
    for dtype in ALL:
        query, key, value = (
            operands(dtype, 2, 2, 3, 4),
            operands(dtype, 2, 2, 5, 4, seed=1),
            operands(dtype, 2, 2, 5, 4, seed=2),
        )
        r.case(query, key, value)
    for dtype in FLOATING:
        query, key, value = (
            grid(dtype, *shape, seed=i)
            for i, shape in enumerate(((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4)))
        )
        r.case(query, key, value, scale=0.5)
        r.case(query, key, value, None, 0.0, True)
        r.case(query, key, grid(dtype, 2, 2, 5, 6, seed=3))
        mask = torch.tensor(
            [[True, False, True, True, False], [False, True, True, False, True], [True] * 5]
        )
        r.case(query, key, value, mask)
        r.case(query, key, value, mask.expand(2, 2, 3, 5), scale=1.0)
        r.case(query, key, value, mask.expand(2, 1, 3, 5))
        r.case(query, key, value, torch.tensor([[True, False, True, True, False]]))
        r.case(query, key, value, grid(dtype, 3, 5, seed=4))
        r.case(query, key, value, grid(dtype, 2, 1, 3, 5, seed=5))
        infinite = torch.zeros(3, 5, dtype=DTYPES[dtype]).masked_fill(~mask, -INF)
        r.case(query, key, value, infinite)
        nothing = mask.clone()
        nothing[1] = False
        r.case(query, key, value, nothing)
        r.case(grid(dtype, 2, 4, 3, 4), key, value, enable_gqa=True)
        r.case(grid(dtype, 2, 4, 3, 4), key, value, mask, enable_gqa=True)
        r.case(
            grid(dtype, 2, 3, 4),
            grid(dtype, 2, 3, 4, seed=1),
            grid(dtype, 2, 3, 4, seed=2),
            None,
            0.0,
            True,
        )
        r.case(grid(dtype, 3, 4), grid(dtype, 5, 4, seed=1), grid(dtype, 5, 4, seed=2))
        r.case(
            grid(dtype, 2, 3, 4), grid(dtype, 2, 5, 4, seed=1), grid(dtype, 2, 5, 4, seed=2), mask
        )
        r.case(grid(dtype, 2, 2, 3, 4), key[:1].expand(2, 2, 5, 4), value[:1].expand(2, 2, 5, 4))
        packed = grid(dtype, 2, 3, 2, 4)
        r.case(
            packed.transpose(1, 2), packed.transpose(1, 2), packed.transpose(1, 2), None, 0.0, True
        )
        r.case(grid(dtype, 0, 2, 3, 4), grid(dtype, 0, 2, 3, 4), grid(dtype, 0, 2, 3, 4))
    for tensor in layouts(lambda *shape: values("Float", *shape), 2, 2, 3, 4).values():
        r.case(tensor, values("Float", 2, 2, 3, 4, seed=1), tensor)
    r.case(
        values("Float", 1, 2, 7, 8),
        values("Float", 1, 2, 7, 8, seed=1),
        values("Float", 1, 2, 7, 8, seed=2),
        None,
        0.0,
        True,
    )
    r.case(values("Float", 2, 3, 4), values("Double", 2, 3, 4), values("Float", 2, 3, 4))
    r.refuse(values("Float", 2, 3, 4), values("Float", 2, 3, 5), values("Float", 2, 3, 5))


def lstm_parameters(
    dtype: str, inputs: int, hidden: int, layers: int, directions: int, biases: bool
) -> list[torch.Tensor]:
    found = []
    for layer in range(layers):
        for direction in range(directions):
            width = inputs if layer == 0 else hidden * directions
            seed = 10 * (2 * layer + direction)
            shapes = [(4 * hidden, width), (4 * hidden, hidden)] + [(4 * hidden,)] * (2 * biases)
            found += [
                values(dtype, *shape, seed=seed + i, low=-1, high=1)
                for i, shape in enumerate(shapes)
            ]
    return found


@operator("aten::lstm.input")
def lstm(r: Recorder) -> None:
    r.rounds = True
    for dtype in ALL:
        for layers in (1, 2):
            for bidirectional in (False, True):
                for biases in (True, False):
                    for batch_first in (False, True):
                        if dtype != "Float" and (layers, biases) == (2, False):
                            continue
                        directions = 1 + bidirectional
                        parameters = lstm_parameters(dtype, 3, 2, layers, directions, biases)
                        shape = (2, 4, 3) if batch_first else (4, 2, 3)
                        state = [
                            values(dtype, layers * directions, 2, 2, seed=i, low=-1, high=1)
                            for i in (1, 2)
                        ]
                        sequence = values(dtype, *shape, low=-1, high=1)
                        r.case(
                            sequence,
                            state,
                            parameters,
                            biases,
                            layers,
                            0.0,
                            False,
                            bidirectional,
                            batch_first,
                            row=dtype,
                        )
    parameters = lstm_parameters("Float", 3, 2, 1, 1, True)
    zeros = [torch.zeros(1, 2, 2), torch.zeros(1, 2, 2)]
    r.case(values("Float", 1, 2, 3), zeros, parameters, True, 1, 0.0, False, False, False)
    r.case(
        values("Float", 2, 5, 3).transpose(0, 1),
        zeros,
        parameters,
        True,
        1,
        0.0,
        False,
        False,
        False,
    )
    r.case(
        values("Float", 5, 2, 6)[..., ::2],
        [torch.zeros(1, 2, 1).expand(1, 2, 2)] * 2,
        parameters,
        True,
        1,
        0.0,
        False,
        False,
        False,
    )
    r.case(operands("Float", 2, 4, 3), zeros, parameters, True, 1, 0.5, False, False, True)
    r.refuse(values("Float", 4, 2, 3), zeros[:1], parameters, True, 1, 0.0, False, False, False)
