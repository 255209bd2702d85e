"""Canaries: claims that must fail. If they pass, the verifier is broken.

They are made from facts that are known about an image.
"""

from __future__ import annotations

from sizeguard.claims.verdict import ABSENT, FAIL, PASS, PRESENT, Verdict
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.known_names import ClaimNames
from sizeguard.verify.named_symbols import judge_named

# A name that no compiler makes.
DEAD = "sizeguard.canary.that.nobody.wrote"
_ALIVE = ("main", "_start", "_main")


def check_symbols(evidence: Evidence) -> list[str]:
    """List the errors in the verdicts on two symbols; empty if there are none.

    One symbol does not exist, the other one is known to run.
    """
    notes = []
    names = ClaimNames(evidence)
    if any(each.verdict == PASS for each in judge_named(names, DEAD, PRESENT)):
        notes.append(f"a claim that {DEAD} is present passed, although nothing has that name")
    alive = _living(evidence)
    if alive and all(each.verdict != FAIL for each in judge_named(names, alive, ABSENT)):
        notes.append(f"a claim that {alive} is absent did not fail, although it is in the image")
    return notes + _check_bytes(evidence)


def must_fail(planted: Verdict) -> list[str]:
    """Return a note if a planted claim did not fail."""
    return (
        []
        if planted.verdict == FAIL
        else [
            f"a planted claim ({planted.kind} {planted.name} {planted.expect}) came out"
            f" {planted.verdict}"
        ]
    )


def _living(evidence: Evidence) -> str:
    """Find a symbol that must be in the image.

    It is the entry point, or else any function of the objects that the map places.
    """
    for name in _ALIVE:
        if name in evidence.symbols or any(
            evidence.placement.where(piece) is not None for piece in evidence.objects.find(name)
        ):
            return name
    for node in evidence.placement.address:
        symbol = (
            evidence.reasons.symbol_at(node)
            if evidence.placement.section(node).is_executable
            else ""
        )
        if symbol:
            return symbol
    return next((name for name in evidence.symbols if _has_place(evidence, name)), "")


def _has_place(evidence: Evidence, name: str) -> bool:
    """Return whether a symbol names bytes; names of versions, such as ZLIB_1.2.2, are numbers."""
    return any(symbol.section > 0 for symbol in evidence.symbols[name])


def _check_bytes(evidence: Evidence) -> list[str]:
    """Check that the largest function in the image is found by its machine code."""
    placement = evidence.placement
    code = [
        node
        for node in placement.address
        if placement.section(node).is_executable and node[0] < evidence.own
    ]
    if not code:
        return []
    largest = max(code, key=lambda node: placement.section(node).size)
    if placement.address[largest] in evidence.shipped_bytes.find(placement.pattern(largest)):
        return []
    return [
        f"the machine code of {placement.section(largest).name} was not found in the image,"
        " although it is there"
    ]
