"""Turns an image and claims on its symbols into a verification."""

from __future__ import annotations

from collections.abc import Sequence

from sizeguard.verify.canary import check_symbols
from sizeguard.verify.evidence import Evidence, Files, gather
from sizeguard.verify.free import judge_symbol
from sizeguard.verify.result import ABSENT, BROKEN, OK, PRESENT, Verdict, Verification


def verify_symbols(files: Files, absent: Sequence[str], present: Sequence[str]) -> Verification:
    """Judge free claims on any image."""
    evidence = gather(files)
    verdicts = judge_symbols(evidence, absent, present)
    return verification(evidence, files.image.name, "the given symbols", verdicts, [])


def judge_symbols(evidence: Evidence, absent: Sequence[str], present: Sequence[str]) -> list[Verdict]:
    return [judge_symbol(evidence, name, ABSENT) for name in absent] + [judge_symbol(evidence, name, PRESENT) for name in present]


def verification(evidence: Evidence, subject: str, against: str, verdicts: Sequence[Verdict], canary_notes: Sequence[str]) -> Verification:
    """Verdicts with the canaries of this run."""
    notes = (*canary_notes, *check_symbols(evidence))
    return Verification(subject, against, tuple(verdicts), evidence.gaps, BROKEN if notes else OK, notes)
