"""Made-up verdicts on claims, and the parts of a verdict that tests compare."""

from __future__ import annotations

from sizeguard.claims.verdict import ABSENT, UNKNOWN, Verdict


def verdict(
    outcome: str, name: str = "x", size: int = 1, cause: str = "", kind: str = "symbol"
) -> Verdict:
    return Verdict(kind, name, ABSENT, outcome, UNKNOWN, size, (f"{outcome} {name}",), (), cause)


def shown(verdict: Verdict) -> tuple[str, int]:
    return verdict.verdict, verdict.bytes
