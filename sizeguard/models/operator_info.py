"""The operators that a model names."""

from __future__ import annotations

from dataclasses import field

from sizeguard.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class OperatorInfo:
    """The operators and classes that a model names, on any path.

    model:       the file's name
    operators:   root operator with overload → dtypes (PyTorch's names) of the tensors that it takes
                 and returns
    classes:     custom classes, without namespace
    kernel_keys: operator → ExecuTorch's kernel keys; only ExecuTorch's files have them
    """

    model: str
    operators: dict[str, frozenset[str]]
    classes: frozenset[str]
    kernel_keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
