"""A torch.nn.Module made of steps over numbered values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Step:
    """One or a few calls.

    function: takes the parameters, then the input values; returns one or several tensors
    """

    function: Callable[..., Any]
    inputs: tuple[int, ...]
    parameters: tuple[str, ...] = ()


class Model(torch.nn.Module):
    """Runs the steps and returns the requested values."""

    def __init__(
        self, parameters: dict[str, torch.Tensor], steps: list[Step], outputs: list[int]
    ) -> None:
        super().__init__()
        for name, tensor in parameters.items():
            if tensor.is_floating_point():
                self.register_parameter(name, torch.nn.Parameter(tensor, requires_grad=False))
            else:
                self.register_buffer(name, tensor)
        self.steps = steps
        self.outputs = outputs

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = list(inputs)
        for step in self.steps:
            parameters = [getattr(self, name) for name in step.parameters]
            result = step.function(*parameters, *(values[i] for i in step.inputs))
            values += result if isinstance(result, tuple | list) else [result]
        return tuple(values[i] for i in self.outputs)


@dataclass
class Graph:
    """A graph that is being drawn.

    It has every value, so that the next step can be chosen by dtype and shape.
    """

    inputs: list[torch.Tensor]
    dynamic: bool
    parameters: dict[str, torch.Tensor] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    values: list[torch.Tensor] = field(default_factory=list)
    used: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.values = list(self.inputs)

    def parameter(self, tensor: torch.Tensor) -> str:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = tensor
        return name

    def add(
        self, function: Callable[..., Any], *inputs: int, parameters: tuple[torch.Tensor, ...] = ()
    ) -> None:
        """Append a step and run it; do nothing if PyTorch refuses."""
        try:
            result = function(*parameters, *(self.values[i] for i in inputs))
        except (RuntimeError, IndexError):
            return
        names = tuple(self.parameter(tensor) for tensor in parameters)
        self.steps.append(Step(function, inputs, names))
        self.used.update(inputs)
        self.values += result if isinstance(result, tuple | list) else [result]

    def model(self, limit: int) -> Model:
        """Return the module; its outputs are the newest unused values, at most `limit`."""
        free = [i for i in range(len(self.inputs), len(self.values)) if i not in self.used]
        return Model(self.parameters, self.steps, free[-limit:]).eval()
