"""Findings of an examination, as data."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass

LOAD, FILE = "load", "file"

# Largest width of a promised finding's interval, relative to its upper end.
PROMISED_WIDTH = 0.2


@dataclass(frozen=True, slots=True)
class EvidencePart:
    """Evidence of a finding: a mangled symbol, a section or another name, and its bytes."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class SizeFinding:
    """Bytes that one change would save.

    kind:     kind of finding, such as unwind-tables
    low, high: bounds of the bytes that the change saves
    metric:   load or file, in which the bytes count
    sections: sections that contain the bytes; empty for all
    evidence: the largest parts
    parts:    the number of all parts
    change:   the flags to set, or the code to write
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
        """Describe how certain the bytes are: exact, promised (a narrow interval) or bounds."""
        if self.low == self.high:
            return "exact"
        return "promised" if self.high - self.low <= PROMISED_WIDTH * self.high else "bounds"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings of an image, sorted by how many bytes are certain.

    load, file: sizes of the image
    unknown: checks that were not possible, and what would make them possible
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
