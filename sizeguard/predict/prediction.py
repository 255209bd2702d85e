"""Result of a prediction, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Bytes of an operator in the predicted image: its own, and those it shares with others."""

    operator: str
    exclusive: int
    shared: int


@dataclass(frozen=True, slots=True)
class ModelCost:
    """Cost of one model of a selection.

    marginal:  bytes that would go without the model
    operators: operators that only this model needs
    """

    model: str
    marginal: int
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A what-if, such as +operator or -model.

    delta: bytes by which it changes the image
    new:   operators that are added or removed with it
    """

    what: str
    delta: int
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted sizes of a selective build, in bytes.

    before:        load of the selection as it is
    load, ram:     after the changes
    margin:        load may be off by this much, either way
    is_calibrated: the margin was measured with this compiler (gcc -Os); it is wider for other
                   compilers and for -O2
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
