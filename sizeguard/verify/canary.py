"""Turns what is known to be in an image into claims that must fail: a verifier that passes them is broken."""

from __future__ import annotations

from sizeguard.verify.evidence import Evidence
from sizeguard.verify.free import judge_symbol
from sizeguard.verify.result import ABSENT, FAIL, PASS, PRESENT, Verdict

# No compiler makes such a name.
DEAD = "sizeguard.canary.that.nobody.wrote"
_ALIVE = ("main", "_start", "_main")


def check_symbols(evidence: Evidence) -> list[str]:
    """What is wrong with claims on symbols; empty if all is well. The dead one stands in no file, the live one runs."""
    notes = []
    if judge_symbol(evidence, DEAD, PRESENT).verdict == PASS:
        notes.append(f"a claim that {DEAD} is present passed, and nothing of that name exists")
    alive = _living(evidence)
    if alive and judge_symbol(evidence, alive, ABSENT).verdict != FAIL:
        notes.append(f"a claim that {alive} is absent did not fail, and it is in the image")
    return notes + _check_bytes(evidence)


def must_fail(planted: Verdict) -> list[str]:
    return (
        [] if planted.verdict == FAIL else [f"a planted claim ({planted.kind} {planted.name} {planted.expect}) came out {planted.verdict}"]
    )


def _living(evidence: Evidence) -> str:
    """A symbol that must be in the image: where it starts, or else any function of the objects that the map places."""
    for name in _ALIVE:
        if name in evidence.symbols or any(evidence.placement.where(piece) is not None for piece in evidence.objects.find(name)):
            return name
    for node in evidence.placement.address:
        symbol = evidence.reasons.symbol_at(node) if evidence.placement.section(node).is_executable else ""
        if symbol:
            return symbol
    return next(iter(evidence.symbols), "")


def _check_bytes(evidence: Evidence) -> list[str]:
    """The largest function in the image must be found by its machine code alone."""
    placement = evidence.placement
    code = [node for node in placement.address if placement.section(node).is_executable and node[0] < evidence.own]
    if not code:
        return []
    largest = max(code, key=lambda node: placement.section(node).size)
    if placement.address[largest] in evidence.shipped_bytes.find(placement.pattern(largest)):
        return []
    return [f"the machine code of {placement.section(largest).name} was not found in the image, and it is there"]
