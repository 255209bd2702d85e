"""Turns a name that a person gave into a claim about a symbol, mangled or as C++ spells it, of any image."""

from __future__ import annotations

import re

from sizeguard.errors import InputError
from sizeguard.formats.demangle import demangle
from sizeguard.verify.evidence import Evidence
from sizeguard.verify.judge import Found, judge_code, look_for
from sizeguard.verify.objects import Piece
from sizeguard.verify.result import Verdict

_MARKED = re.compile(r"(.+)@(0x[0-9a-fA-F]{5,16})")


def judge_symbol(evidence: Evidence, name: str, expect: str) -> Verdict:
    """`f`, `_Z1fv`, `ns::f`, `ns::f(int)`; `f@0x1122334455667788` adds a constant that stands in its code and nowhere else."""
    marked = _MARKED.fullmatch(name)
    symbols = _spellings(evidence, marked[1] if marked else name)
    pieces = [piece for symbol in symbols for piece in evidence.objects.find(symbol)]
    found = look_for(evidence, pieces, symbols)
    if marked:
        found = _with_constant(evidence, found, int(marked[2], 16))
    return judge_code(evidence, "symbol", name, expect, found)


def _spellings(evidence: Evidence, name: str) -> list[str]:
    """The mangled names that are meant."""
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
            if text == wanted or text.partition("(")[0] == wanted or text.partition("<")[0] == wanted:
                found.append(symbol)
    return found or [name]


def _with_constant(evidence: Evidence, found: Found, value: int) -> Found:
    """A constant survives inlining and renaming: wherever it stands in the image, the code is still there."""
    size = 8 if value >> 32 else 4
    places = evidence.shipped_bytes.constant(value.to_bytes(size, "little"))
    if not places:
        return Found(found.there, found.pieces, found.placed, (*found.evidence, f"its constant {value:#x} stands nowhere in the image"))
    there = dict(found.there)
    notes = list(found.evidence)
    pieces: list[Piece] = []
    for place in places:
        node = evidence.placement.owner(place)
        covered = any(start <= place < start + length for start, length in found.there)
        inside = evidence.reasons.symbol_at(node, place - evidence.placement.address[node]) if node else ""
        notes.insert(0, f"its constant {value:#x} stands at {place:#x}" + (f", in {demangle(inside)}" if inside and not covered else ""))
        if not covered:
            there[place] = size
            if node:
                pieces.append(Piece(node[0], node[1], place - evidence.placement.address[node], size, inside))
    return Found(tuple(sorted(there.items())), found.pieces, (*found.placed, *pieces), tuple(notes))
