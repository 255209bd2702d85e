"""Turns a growth limit such as max(1%, 512B) into bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sizeguard.errors import InputError

_PART = re.compile(r"(\d+(?:\.\d+)?)%|(\d+) ?B")


@dataclass(frozen=True, slots=True)
class GrowthLimit:
    """How much something may grow: the larger of a share in thousandths of a percent and of bytes."""

    text: str
    milli_percent: int
    bytes: int

    def allowed(self, base: int) -> int:
        """Bytes that `base` may grow."""
        return max(base * self.milli_percent // 100_000, self.bytes)


def parse_limit(text: str, where: str) -> GrowthLimit:
    """max(1%, 512B), 1% or 512B. `where` begins the error message."""
    inner = text.strip()
    match = re.fullmatch(r"max\((.*)\)", inner)
    parts = [part.strip() for part in match[1].split(",")] if match else [inner]
    milli_percent = amount = 0
    for part in parts:
        found = _PART.fullmatch(part)
        if not found:
            raise InputError(f"{where}: '{text}' is no limit; write max(1%, 512B), 1% or 512B")
        if found[1]:
            whole, _, fraction = found[1].partition(".")
            milli_percent = max(milli_percent, int(whole) * 1000 + int((fraction + "000")[:3]))
        else:
            amount = max(amount, int(found[2]))
    return GrowthLimit(text.strip(), milli_percent, amount)
