"""Findings of an examination, as data."""

from __future__ import annotations

from dataclasses import dataclass

LOAD, FILE = "load", "file"

# How wide the interval of a promised finding may be, as a part of its upper end.
PROMISED_WIDTH = 0.2


@dataclass(frozen=True, slots=True)
class EvidencePart:
    """Evidence of a finding: a mangled symbol, a section or another name, and its bytes."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class SizeFinding:
    """Bytes to win by one change.

    kind:     of the finding, such as unwind-tables
    low, high: bytes that the change wins
    metric:   load or file: where they are counted
    sections: in which they are counted; empty for all
    evidence: the largest parts
    parts:    how many parts there are
    change:   the flags or the code to write
    """

    kind: str
    title: str
    low: int
    high: int
    metric: str
    evidence: tuple[EvidencePart, ...]
    parts: int
    change: str
    sections: tuple[str, ...] = ()

    @property
    def confidence(self) -> str:
        """Say how sure the bytes are: exact, promised (a narrow interval) or bounds."""
        if self.low == self.high:
            return "exact"
        return "promised" if self.high - self.low <= PROMISED_WIDTH * self.high else "bounds"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings of an image, those with the most certain bytes first.

    load, file: sizes of the image
    unknown: what could not be examined, and what would make it possible
    """

    image: str
    load: int
    file: int
    findings: tuple[SizeFinding, ...]
    unknown: tuple[str, ...] = ()


_MOST_EVIDENCE = 8


def largest(parts: dict[str, int]) -> tuple[EvidencePart, ...]:
    """Return the largest parts."""
    rows = sorted(parts.items(), key=lambda row: (-row[1], row[0]))
    return tuple(EvidencePart(name, size) for name, size in rows[:_MOST_EVIDENCE])
