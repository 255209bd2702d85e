"""Facts of a build that only its runtime knows: dispatcher, dtype switches, calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sizeguard.base.dataclass import dataclass

if TYPE_CHECKING:
    from sizeguard.claims.listed_names import FeatureMarks


@dataclass(frozen=True, slots=True)
class SwitchSite:
    """A dtype switch: its tag, source file and enclosing function."""

    tag: str
    file: str
    function: str


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Calls of operators by kernels.

    by_name:   demangled functions that take an operator's name
    by_handle: demangled functions that take the handle of an operator
    """

    by_name: tuple[str, ...]
    by_handle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measured sizes of compiled code, in bytes.

    message_code: code that passes one message
    switch_head: code before the first case that chooses the case
    table_code, jump: for a switch with a jump table: its code, and the table's bytes for each dtype
    per_switch: possible change of a function, in either direction, when branches leave it
    unseen: possible change elsewhere when the first branch is left out
    feature: error of a build feature's measured bytes, in bytes and in percent; None if they are
                      not valid for this build
    is_usual: whether the build is of the kind with the most measurements
    """

    message_code: int
    switch_head: int
    table_code: int
    jump: int
    per_switch: int
    unseen: int
    feature: tuple[int, int] | None
    is_usual: bool


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """Facts of one build that its runtime knows.

    runtime:       the runtime's name
    switches:      dtype switches
    guards:        code that exists only if the tag has a dtype
    verbose_texts: messages that one build feature, verbose_feature, keeps
    features:      evidence of each build feature, with its bytes in a full build
    handler:       the mangled function that deselected cases call
    class_registrar: a part of the name of the function that registers custom classes
    """

    runtime: str
    dispatch: Dispatch
    switches: tuple[SwitchSite, ...]
    guards: tuple[SwitchSite, ...]
    verbose_texts: frozenset[str]
    verbose_feature: str
    features: Mapping[str, FeatureMarks]
    handler: str
    calibration: Calibration
    class_registrar: str
