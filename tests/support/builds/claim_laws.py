"""Laws for verifications with less evidence, for every image format."""

from __future__ import annotations

from collections import Counter

from sizeguard.claims.verdict import ABSENT, FAIL, INCONCLUSIVE, PASS, PRESENT, Verification


def counted(found: Verification) -> dict[tuple[str, str], Counter[str]]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for verdict in found.verdicts:
        counts.setdefault((verdict.kind, verdict.expect), Counter())[verdict.verdict] += 1
    return counts


def check_no_failure_passes(with_names: Verification, found: Verification) -> None:
    """Check that failures stay or, rarely, become undecided if names are missing."""
    failed = {
        (v.kind, v.name)
        for v in with_names.verdicts
        if v.verdict == FAIL and v.kind in ("operator", "kernel", "dtype", "class")
    }
    now = {(v.kind, v.name): v.verdict for v in found.verdicts}
    assert {key for key in failed if now[key] == PASS} == set()
    assert sum(now[key] == FAIL for key in failed) > 0.95 * len(failed)


def check_alone_nothing_is_gone(alone: Verification) -> None:
    """Check that a stripped image without objects and map proves no absence."""
    by_kind = counted(alone)
    assert set(by_kind["operator", ABSENT]) == set(by_kind["kernel", ABSENT]) == {INCONCLUSIVE}
    assert set(by_kind["operator", PRESENT]) == {PASS}  # tables need no symbols
    assert alone.verdict == INCONCLUSIVE
    assert len(alone.gaps) == 3
