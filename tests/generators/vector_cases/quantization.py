"""Cases of quantization operators, which importing torch.ao defines."""

from __future__ import annotations

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers operators)

from .recorder import Recorder, operator
from .tensors import ALL, DTYPES, FLOATING, INF, layouts, scalar, values

RANGES = {
    "Byte": (0, 255),
    "Char": (-128, 127),
    "Short": (-32768, 32767),
    "Int": (-(2**31), 2**31 - 1),
}


@operator("quantized_decomposed::quantize_per_tensor")
def quantize(r: Recorder) -> None:
    for source in ALL:
        for target in ALL:
            low, high = RANGES.get(target, (0, 100))
            # Float cannot represent Int's limits, so casting a clamped value would be undefined.
            low, high = max(low, -(2**20)), min(high, 2**20)
            r.case(values(source, 2, 5), 0.05, 3, low, high, DTYPES[target])
    for target in ("Byte", "Char"):
        low, high = RANGES[target]
        ties = torch.tensor(
            [0.5, 1.5, 2.5, -0.5, -1.5, 0.25, 0.75, 1000.0, -1000.0, INF, -INF, 0.0, -0.0]
        )
        for scale, zero_point in (
            (1.0, 0),
            (0.5, 10),
            (0.1, 5),
            (0.003, 100),
            (3.7, -2 if target == "Char" else 2),
        ):
            r.case(ties, scale, zero_point, low, high, DTYPES[target])
            r.case(values("Float", 3, 7), scale, zero_point, low, high, DTYPES[target])
        r.case(values("Float", 3, 7), 0.05, 0, -16 if target == "Char" else 0, 15, DTYPES[target])
        for tensor in layouts(lambda *shape: values("Float", *shape), 2, 3, 4).values():
            r.case(tensor, 0.05, 1, low, high, DTYPES[target])
        r.case(scalar("Float"), 0.05, 1, low, high, DTYPES[target])
        r.case(values("Float", 0, 3), 0.05, 1, low, high, DTYPES[target])
        for dtype in FLOATING:
            r.case(values(dtype, 2, 3), 0.05, 1, low, high, DTYPES[target])


@operator("quantized_decomposed::dequantize_per_tensor")
def dequantize(r: Recorder) -> None:
    for dtype in ALL:
        low, high = RANGES.get(dtype, (0, 100))
        r.case(values(dtype, 2, 5), 0.05, 3, low, high, DTYPES[dtype])
        for result in ALL:
            r.case(values(dtype, 2, 3), 0.5, 1, low, high, DTYPES[dtype], out_dtype=DTYPES[result])
    for dtype, (low, high) in RANGES.items():
        for scale, zero_point in ((1.0, 0), (0.1, 5), (0.003, 100), (3.7, 2)):
            r.case(
                torch.tensor([low, high, 0, 1, 2, 100], dtype=DTYPES[dtype]),
                scale,
                zero_point,
                low,
                high,
                DTYPES[dtype],
            )
        for tensor in layouts(lambda *shape, dtype=dtype: values(dtype, *shape), 2, 3, 4).values():
            r.case(tensor, 0.05, 1, low, high, DTYPES[dtype])
        r.case(scalar(dtype), 0.05, 1, low, high, DTYPES[dtype])
        r.case(values(dtype, 0, 3), 0.05, 1, low, high, DTYPES[dtype])
    r.case(values("Byte", 3), 0.05, 1, 0, 255, torch.int8)


@operator("quantized_decomposed::dequantize_per_channel")
def dequantize_channels(r: Recorder) -> None:
    for dtype in ALL:
        low, high = RANGES.get(dtype, (0, 100))
        for scales_dtype in FLOATING:
            scales = values(scales_dtype, 3, low=0.01, high=0.5)
            for zero_dtype in ("Int", "Long", "Char", "Float"):
                r.case(
                    values(dtype, 3, 2),
                    scales,
                    values(zero_dtype, 3, low=0),
                    0,
                    low,
                    high,
                    DTYPES[dtype],
                )
            r.case(values(dtype, 3, 2), scales, None, 0, low, high, DTYPES[dtype])
        scales, zeros = values("Float", 3, low=0.01, high=0.5), values("Int", 3, low=0)
        for axis, shape in (
            (1, (2, 3)),
            (1, (2, 3, 2)),
            (-1, (2, 3)),
            (0, (3, 2, 2, 2)),
            (2, (1, 2, 3)),
            (0, (3,)),
            (1, (0, 3)),
        ):
            r.case(values(dtype, *shape), scales, zeros, axis, low, high, DTYPES[dtype])
        for result in FLOATING:
            r.case(
                values(dtype, 3, 2),
                scales,
                zeros,
                0,
                low,
                high,
                DTYPES[dtype],
                out_dtype=DTYPES[result],
            )
    for tensor in layouts(lambda *shape: values("Char", *shape), 2, 3, 4).values():
        r.case(
            tensor,
            values("Float", 6, low=0.01, high=0.5)[::2],
            values("Long", 6, low=0)[::2],
            1,
            -128,
            127,
            torch.int8,
        )
    r.case(
        torch.tensor([[-128, 127], [0, 1]], dtype=torch.int8),
        torch.tensor([0.1, 3.7]),
        torch.tensor([-128, 127]),
        0,
        -128,
        127,
        torch.int8,
    )
