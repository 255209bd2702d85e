"""Write a verification as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from sizeguard.claims.claim import Claim
from sizeguard.claims.verdict import VERDICTS, Verdict, Verification

SCHEMA_VERSION = 1


def verification_json(result: Verification) -> dict[str, object]:
    """Make the JSON document."""
    return {
        "schema_version": SCHEMA_VERSION,
        "subject": result.subject,
        "against": result.against,
        "verdict": result.verdict,
        "claims": [_claim(verdict) for verdict in result.verdicts],
        "summary": {verdict: result.count(verdict) for verdict in VERDICTS},
        "canary": result.canary,
        "canary_notes": list(result.canary_notes),
        "gaps": list(result.gaps),
    }


def listed_json(claims: Sequence[Claim]) -> dict[str, object]:
    """Make the JSON document of claims that are not judged."""
    return {
        "schema_version": SCHEMA_VERSION,
        "claims": [
            {"kind": each.kind, "name": each.name, "expect": each.expect} for each in claims
        ],
    }


def _claim(verdict: Verdict) -> dict[str, object]:
    return {
        "kind": verdict.kind,
        "name": verdict.name,
        "expect": verdict.expect,
        "verdict": verdict.verdict,
        "how": verdict.how,
        "bytes": verdict.bytes,
        "evidence": list(verdict.evidence),
        "chain": [
            {"section": step.section, "symbol": step.symbol, "object": step.object}
            for step in verdict.chain
        ],
        "cause": verdict.cause,
    }
