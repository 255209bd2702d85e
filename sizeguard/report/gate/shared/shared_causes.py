"""Causes of growth that several builds share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

from sizeguard.base.dataclass import dataclass
from sizeguard.gate.causes.growth_result import Cause
from sizeguard.gate.gate_result import AppResult
from sizeguard.report.gate.moved_code import changed


@dataclass(slots=True)
class SharedCause:
    """A cause and its builds: one cause for each."""

    causes: list[Cause] = field(default_factory=list)
    builds: list[AppResult] = field(default_factory=list)

    @property
    def weight(self) -> int:
        """The sum of the changes of all builds."""
        return sum(abs(cause.delta) for cause in self.causes)

    @property
    def change(self) -> str:
        """The change, or the smallest and largest change of several builds."""
        deltas = [cause.delta for cause in self.causes]
        low, high = min(deltas), max(deltas)
        return f"{low:+,}" if low == high else f"{low:+,} … {high:+,}"

    @property
    def sizes(self) -> tuple[str, str]:
        """Old and new size; empty if they differ between the builds."""
        if len({(cause.old, cause.new) for cause in self.causes}) > 1:
            return "", ""
        return f"{self.causes[0].old:,}", f"{self.causes[0].new:,}"


def shared_causes(apps: Iterable[AppResult]) -> list[SharedCause]:
    """Group the causes of all builds by operator, dtype and symbol, the largest sum first."""
    found: dict[tuple[str, ...], SharedCause] = {}
    for app in apps:
        own: dict[tuple[str, ...], Cause] = {}
        for cause in changed(app):
            # Overloads have one short name
            key: tuple[str, ...] = (cause.operator, cause.dtype, cause.symbol, cause.kind)
            before = own.get(key)
            own[key] = cause if before is None else _joined(before, cause)
        for name, cause in own.items():
            one = found.setdefault(name, SharedCause())
            one.causes.append(cause)
            one.builds.append(app)
    return sorted(found.values(), key=lambda each: -each.weight)


def _joined(one: Cause, other: Cause) -> Cause:
    """Sum two causes; the place is that of the larger."""
    larger = max(one, other, key=lambda each: abs(each.delta))
    return replace(larger, old=one.old + other.old, new=one.new + other.new)
