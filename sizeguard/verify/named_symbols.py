"""Verdicts on symbols of any image that a person named, mangled or as C++ spells them."""

from __future__ import annotations

import re

from sizeguard.base.errors import InputError
from sizeguard.claims.verdict import Verdict
from sizeguard.names.demangle import demangle
from sizeguard.verify.code_presence import FoundCode, judge_code, look_for
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece

_MARKED = re.compile(r"(.+)@(0x[0-9a-fA-F]{5,16})")


def judge_symbol(evidence: Evidence, name: str, expect: str) -> Verdict:
    """Judge a symbol: `f`, `_Z1fv`, `ns::f` or `ns::f(int)`.

    `f@0x1122334455667788` adds a constant that is in its code and nowhere else.
    """
    marked = _MARKED.fullmatch(name)
    symbols = _spellings(evidence, marked[1] if marked else name)
    pieces = [piece for symbol in symbols for piece in evidence.objects.find(symbol)]
    found = look_for(evidence, pieces, symbols)
    if marked:
        found = _with_constant(evidence, found, int(marked[2], 16))
    return judge_code(evidence, "symbol", name, expect, found)


def _spellings(evidence: Evidence, name: str) -> list[str]:
    """List the mangled names that a text means."""
    if not name.strip():
        raise InputError("a claim needs a symbol's name")
    known = {*evidence.objects.index, *evidence.symbols, *evidence.inlined}
    if name in known:
        return [name, *sorted(other for other in known if other.startswith(name + "."))]
    wanted = name.replace(" ", "")
    found = []
    for symbol in sorted(known):
        if symbol.startswith("_Z"):
            text = demangle(symbol).replace(" ", "")
            if (
                text == wanted
                or text.partition("(")[0] == wanted
                or text.partition("<")[0] == wanted
            ):
                found.append(symbol)
    return found or [name]


# Over 40 lines: one search over all images and objects for a constant.
def _with_constant(evidence: Evidence, found: FoundCode, value: int) -> FoundCode:
    """Look for a constant, which survives inlining and renaming.

    If it is anywhere in the image, the code is still there.
    """
    size = 8 if value >> 32 else 4
    places = evidence.shipped_bytes.constant(value.to_bytes(size, "little"))
    if not places:
        return FoundCode(
            found.there,
            found.pieces,
            found.placed,
            (*found.evidence, f"its constant {value:#x} stands nowhere in the image"),
        )
    there = dict(found.there)
    notes = list(found.evidence)
    pieces: list[NamedPiece] = []
    for place in places:
        node = evidence.placement.owner(place)
        covered = any(start <= place < start + length for start, length in found.there)
        inside = (
            evidence.reasons.symbol_at(node, place - evidence.placement.address[node])
            if node
            else ""
        )
        notes.insert(
            0,
            f"its constant {value:#x} stands at {place:#x}"
            + (f", in {demangle(inside)}" if inside and not covered else ""),
        )
        if not covered:
            there[place] = size
            if node:
                pieces.append(
                    NamedPiece(
                        node[0], node[1], place - evidence.placement.address[node], size, inside
                    )
                )
    return FoundCode(
        tuple(sorted(there.items())), found.pieces, (*found.placed, *pieces), tuple(notes)
    )
