"""Check whether a model's results are stable if another implementation rounds differently."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Operators that round once have equal results everywhere; others may differ in the last bits.
EXACT = (
    *(
        "add",
        "sub",
        "mul",
        "div",
        "relu",
        "clamp",
        "hardtanh",
        "where",
        "view",
        "permute",
        "transpose",
        "select",
        "slice",
        "cat",
        "stack",
    ),
    *(
        "clone",
        "copy",
        "expand",
        "squeeze",
        "unsqueeze",
        "detach",
        "alias",
        "fill",
        "full",
        "zeros",
        "embedding",
        "bitwise",
        "eq",
        "ne",
    ),
    *(
        "gt",
        "logical",
        "unbind",
        "split",
        "t",
        "argmax",
        "any",
        "to",
        "lift",
        "empty",
        "arange",
        "item",
        "scalar",
        "dropout",
    ),
)
UNIT = {
    torch.float16: 2.0**-10,
    torch.bfloat16: 2.0**-7,
    torch.float32: 2.0**-22,
    torch.float64: 2.0**-48,
}
TOLERANCE = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
}
TRIALS = 6


class Noise(TorchDispatchMode):
    """Changes results of inexact operators by about one unit in the last place."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        result = function(*arguments, **(keywords or {}))
        name = function._schema.name.split("::")[1].strip("_")
        if function._schema.is_mutable or any(
            name == word or name.startswith(f"{word}_") for word in EXACT
        ):
            return result
        if isinstance(result, tuple | list):
            return type(result)(self.moved(item) for item in result)
        return self.moved(result)

    def moved(self, tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor) or tensor.dtype not in UNIT:
            return tensor
        steps = torch.randint(-1, 2, tensor.shape, generator=self.generator).to(torch.float64)
        return (tensor.to(torch.float64) * (1 + UNIT[tensor.dtype] * steps)).to(tensor.dtype)


def is_steady(model: torch.nn.Module, inputs: list[torch.Tensor]) -> bool:
    """Return whether the results stay within the tolerances if last bits change."""
    wanted = model(*inputs)
    for seed in range(TRIALS):
        with Noise(seed):
            got = model(*inputs)
        for actual, expected in zip(got, wanted, strict=True):
            relative, absolute = TOLERANCE.get(expected.dtype, (0.0, 0.0))
            if not torch.isfinite(expected.to(torch.float64)).all():
                return False
            if not torch.allclose(
                actual.to(torch.float64), expected.to(torch.float64), rtol=relative, atol=absolute
            ):
                return False
    return True
