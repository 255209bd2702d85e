"""Facts of a build that a runtime alone knows: dispatcher, dtype switches, calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sizeguard.claims.claim import FeatureMarks


@dataclass(frozen=True, slots=True)
class SwitchSite:
    """A dtype switch: its tag, the source file's name, the function around it."""

    tag: str
    file: str
    function: str


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Calls of operators by kernels.

    by_name:   demangled functions that take an operator's name
    by_handle: demangled functions that take an operator which was found before
    """

    by_name: tuple[str, ...]
    by_handle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Calibration:
    """Measured sizes of what a compiler makes, in bytes.

    message_code:     code that hands over one message
    switch_head:      code before the first case, which chooses the case
    table_code, jump: a switch that was a table: its code, and its jump table for each dtype
    per_switch:       a function changes by so much, either way, when branches leave it
    unseen:           what leaving out the first branch may change elsewhere
    feature:          a build feature's measured bytes may be off by so many bytes and so many
                      hundredths; None if they tell nothing of this build
    is_usual:         whether the build is of the kind that was measured most closely
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

    switches:      dtype switches
    guards:        code that is there only if the tag has a dtype
    verbose_texts: messages that one build feature, verbose_feature, keeps
    features:      what tells each build feature, with its bytes in a full build
    handler:       the mangled function that deselected cases call
    """

    dispatch: Dispatch
    switches: tuple[SwitchSite, ...]
    guards: tuple[SwitchSite, ...]
    verbose_texts: frozenset[str]
    verbose_feature: str
    features: Mapping[str, FeatureMarks]
    handler: str
    calibration: Calibration
