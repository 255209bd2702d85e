"""What a gate finds: checks, models, savings, growth. How it is found and how it is shown is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sizeguard.attribution.result import CORE, OUTSIDE, SHARED
from sizeguard.build.record import Build
from sizeguard.verify.result import Verification

PASS, FAIL, INCONCLUSIVE = "pass", "fail", "inconclusive"


@dataclass(frozen=True, slots=True)
class Baseline:
    """Reviewed sizes of one app with one toolchain, in bytes.

    operators: loaded bytes of each, and of (core) and the like: they sum to the load.
    """

    app: str
    target: str
    toolchain: str
    load: int
    ram: int
    file: int
    operators: Mapping[str, int]

    def size(self, metric: str) -> int:
        return {"load": self.load, "ram": self.ram, "file": self.file}[metric]


@dataclass(frozen=True, slots=True)
class Saving:
    """Loaded bytes of one operator, or of what is none: (core), (shared by operators), (headers, tables, padding)."""

    operator: str
    full: int
    selective: int

    @property
    def saved(self) -> int:
        return self.full - self.selective

    @property
    def is_operator(self) -> bool:
        return self.operator not in (CORE, SHARED, OUTSIDE)


@dataclass(frozen=True, slots=True)
class ModelResult:
    """verdict: pass or fail. missing: operators and classes that the selective build lacks. message: what went wrong."""

    model: str
    app: str
    verdict: str
    cases: int
    missing: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class Check:
    """One number against its limit, in bytes, or in claims that do not hold; both are None if there is nothing to compare with."""

    id: str
    app: str
    target: str
    metric: str
    limit: int | None
    actual: int
    headroom: int | None
    verdict: str
    rule: str
    advice: str


@dataclass(frozen=True, slots=True)
class Growth:
    """What changed since the baseline: loaded bytes of an operator, or of (core) and the like."""

    operator: str
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class AppResult:
    """verification: None if nothing could be verified; then the check of the elimination says why."""

    app: str
    full: Build
    selective: Build
    checks: tuple[Check, ...]
    models: tuple[ModelResult, ...]
    savings: tuple[Saving, ...]
    growth: tuple[Growth, ...]
    verification: Verification | None


@dataclass(frozen=True, slots=True)
class GateResult:
    """fail if anything fails; inconclusive if nothing fails and something could not be decided."""

    verdict: str
    apps: tuple[AppResult, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """A baseline before (None if there was none) and after."""

    path: Path
    old: Baseline | None
    new: Baseline
