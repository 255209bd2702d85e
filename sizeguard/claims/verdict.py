"""Verdicts on claims: how each was decided, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass

PASS, FAIL, INCONCLUSIVE = "pass", "fail", "inconclusive"
NOT_APPLICABLE = "not_applicable"
VERDICTS = (PASS, FAIL, INCONCLUSIVE, NOT_APPLICABLE)
ABSENT, PRESENT = "absent", "present"

NOT_GENERATED = "not_generated"
REMOVED_BY_COMPILER = "removed_by_compiler"
DISCARDED_BY_LINKER = "discarded_by_linker"
STILL_THERE = "still_there"
THERE = "present"
UNKNOWN = "unknown"
HOWS = (NOT_GENERATED, REMOVED_BY_COMPILER, DISCARDED_BY_LINKER, STILL_THERE, THERE, UNKNOWN)

OK, BROKEN = "ok", "broken"


@dataclass(frozen=True, slots=True)
class ChainStep:
    """A section on the way from a root to what is still there.

    Symbol and object as people read them.
    """

    section: str
    symbol: str
    object: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim and what became of it.

    kind:     operator, kernel, dtype, class, feature, symbol, initializer, export, section, handler
              or selection
    expect:   absent or present
    verdict:  of VERDICTS
    how:      of HOWS
    bytes:    of it in the image
    evidence: what was found, strongest first; the reason of a claim that does not apply
    chain:    why it is still there, from a root
    cause:    the same in a few words; empty if nothing is wrong or nothing is known
    """

    kind: str
    name: str
    expect: str
    verdict: str
    how: str
    bytes: int
    evidence: tuple[str, ...]
    chain: tuple[ChainStep, ...] = ()
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """subject: what was verified.

    against: where the claims come from. gaps: evidence that was missing.

    canary: ok, or broken if a claim that had to fail did not; canary_notes say which.
    """

    subject: str
    against: str
    verdicts: tuple[Verdict, ...]
    gaps: tuple[str, ...]
    canary: str
    canary_notes: tuple[str, ...]

    def count(self, verdict: str) -> int:
        """Count the verdicts of one kind."""
        return sum(each.verdict == verdict for each in self.verdicts)

    @property
    def verdict(self) -> str:
        """Return fail if a claim fails, else inconclusive if one is undecided, else pass."""
        if self.count(FAIL):
            return FAIL
        return INCONCLUSIVE if self.count(INCONCLUSIVE) else PASS
