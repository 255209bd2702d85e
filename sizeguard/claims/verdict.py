"""Verdicts on claims: how each was decided, with its evidence."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass

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

# In the evidence of a pattern that no name matches; the pattern may be misspelt.
MATCHES_NOTHING = "matches nothing"

OK, BROKEN = "ok", "broken"


@dataclass(frozen=True, slots=True)
class ChainStep:
    """A section on the path from a root to code that is still present.

    Symbol and object are display names.
    """

    section: str
    symbol: str
    object: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim and the verdict on it.

    kind:     operator, kernel, dtype, class, feature, symbol, initializer, export, section, handler
              or selection
    expect:   absent or present
    verdict:  one of VERDICTS
    how:      not_generated, removed_by_compiler, discarded_by_linker, still_there, present or
              unknown
    bytes:    size of the claimed item in the image
    evidence: findings, strongest first; for a claim that does not apply, the reason
    chain:    the path from a root that keeps it
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


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Verification:
    """All verdicts on one image or build.

    subject:      the verified image or build
    against:      the source of the claims
    gaps:         missing evidence
    canary:       ok, or broken if a claim that had to fail did not
    canary_notes: names of such claims
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
        """Return fail if any claim fails, else inconclusive if any is undecided, else pass.

        Nothing passes a broken verifier.
        """
        if self.count(FAIL):
            return FAIL
        return INCONCLUSIVE if self.count(INCONCLUSIVE) or self.canary != OK else PASS
