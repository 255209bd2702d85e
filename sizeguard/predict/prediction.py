"""Result of a prediction, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PredictedSaving:
    """Loaded bytes that go with one part of an image alone; negative if the image grows.

    low, high: the interval, both ends included
    """

    bytes: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Bytes of an operator in the predicted image: its own, and those it shares with others.

    saving: what a build without the operator saves; None if that is not known
    """

    operator: str
    exclusive: int
    shared: int
    saving: PredictedSaving | None = None


@dataclass(frozen=True, slots=True)
class DtypeCost:
    """Bytes of one dtype branch of a kernel tag.

    saving: what a build without the branch saves; None if that is not known
    """

    tag: str
    dtype: str
    saving: PredictedSaving | None


@dataclass(frozen=True, slots=True)
class FeatureCost:
    """Bytes of one build feature.

    is_kept: the selection keeps it
    price:   what a build without it saves, or what one with it has more; None if not known
    """

    feature: str
    is_kept: bool
    price: PredictedSaving | None


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
    handler:       bytes that the first dtype left out adds: the handler that all deselected cases
                   call. Each saving of a dtype counts it; 0 if the image has the handler
    unknown:       reasons why savings are not known
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
    per_dtype: tuple[DtypeCost, ...] = ()
    handler: int = 0
    unknown: tuple[str, ...] = ()
    per_feature: tuple[FeatureCost, ...] = ()
