"""Result of a prediction, as data."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class PredictedSaving:
    """Loaded bytes that removing one part of an image saves; negative if the image grows.

    low, high: the interval, including both ends
    """

    bytes: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Bytes of an operator in the predicted image: its own, and those it shares with others.

    saving: bytes that a build without the operator saves; None if not known
    """

    operator: str
    exclusive: int
    shared: int
    saving: PredictedSaving | None = None


@dataclass(frozen=True, slots=True)
class DtypeCost:
    """Bytes of one dtype branch of a kernel tag.

    saving: bytes that a build without the branch saves; None if not known
    """

    tag: str
    dtype: str
    saving: PredictedSaving | None


@dataclass(frozen=True, slots=True)
class FeatureCost:
    """Bytes of one build feature.

    is_kept: whether the selection keeps it
    price:   bytes that a build without it saves, or that one with it adds; None if not known
    """

    feature: str
    is_kept: bool
    price: PredictedSaving | None


@dataclass(frozen=True, slots=True)
class ModelCost:
    """Cost of one model of a selection.

    marginal:  bytes that removing the model saves
    operators: operators that only this model needs
    """

    model: str
    marginal: int
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A what-if change, such as +operator or -model.

    delta: bytes by which it changes the image
    new:   operators that are added or removed with it
    """

    what: str
    delta: int
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted sizes of a selective build, in bytes.

    before:        load of the original selection
    load, ram:     after the changes
    margin:        bytes by which load may be off, in either direction
    is_calibrated: whether the margin was measured with this compiler (gcc -Os); it is wider for
                   other compilers and for -O2
    handler:       bytes that the first omitted dtype adds for the handler that all deselected cases
                   call. Each saving of a dtype includes it; 0 if the image has the handler
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
