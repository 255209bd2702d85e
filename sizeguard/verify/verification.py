"""Verify claims on the evidence of one link."""

from __future__ import annotations

from collections.abc import Sequence

from sizeguard.claims.claim import Claim, ClaimSet, NamedByUser
from sizeguard.claims.verdict import ABSENT, BROKEN, OK, PRESENT, Verdict, Verification
from sizeguard.verify.canaries import check_symbols
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.judge_claims import Judge
from sizeguard.verify.known_names import ClaimNames
from sizeguard.verify.named_symbols import judge_named


def named_claims(absent: Sequence[str], present: Sequence[str]) -> list[Claim]:
    """Claim the symbols that a user named; a pattern gets a verdict for each match."""
    return [
        Claim("symbol", text, expect, NamedByUser(text))
        for expect, texts in ((ABSENT, absent), (PRESENT, present))
        for text in texts
    ]


def judge_symbols(names: ClaimNames, claims: Sequence[Claim]) -> list[Verdict]:
    """Judge claims on symbols and operators."""
    return [verdict for claim in claims for verdict in judge_named(names, claim.name, claim.expect)]


def verify_claims(
    evidence: Evidence,
    subject: str,
    against: str,
    claims: ClaimSet | None,
    named: Sequence[Verdict],
) -> Verification:
    """Judge the claims, and join their verdicts with those on named symbols and the canaries."""
    verdicts, notes = list(named), check_symbols(evidence)
    if claims is not None:
        judge = Judge(evidence, claims)
        verdicts = judge.verdicts() + verdicts
        notes = judge.canary_notes() + notes
    return Verification(
        subject, against, tuple(verdicts), evidence.gaps, BROKEN if notes else OK, tuple(notes)
    )
