"""What is predicted of a selection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Bytes of an operator in the predicted image: its own, and those that it shares with others."""

    operator: str
    exclusive: int
    shared: int


@dataclass(frozen=True, slots=True)
class ModelCost:
    """marginal: bytes that would go without the model. operators: what only it asks for."""

    model: str
    marginal: int
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A what-if: +operator or -model, and the bytes by which it moves the image. new: operators that come or go with it."""

    what: str
    delta: int
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """before: load of the selection as it is; load, ram: after the changes; margin: load may be off by that, either way.

    is_calibrated: the margin is that of gcc -Os, for which the model was made; it is wider for other compilers and -O2
    """

    selection: str
    before: int
    load: int
    ram: int
    margin: int
    changes: tuple[Change, ...]
    per_operator: tuple[OperatorCost, ...]
    per_model: tuple[ModelCost, ...]
    is_calibrated: bool = True
