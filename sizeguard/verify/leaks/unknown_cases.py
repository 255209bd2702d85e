"""Verdicts on dtype cases of switches that the full build does not have."""

from __future__ import annotations

from collections.abc import Iterator

from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    PASS,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    Verdict,
)
from sizeguard.names.demangle import demangle
from sizeguard.verify.evidence.evidence import Inlined
from sizeguard.verify.inlined_cases import cases_in, compiled_cases
from sizeguard.verify.leaks.deselected_code import DeselectedCode

CASES = "cases of dtype switches that the full build does not have"
_MOST_SHOWN = 4


def judge_cases(code: DeselectedCode) -> Iterator[Verdict]:
    """Judge the cases that debug information names in the image; no claim without a full build.

    A switch of its own can hold a deselected dtype: its tag is no selection's.
    """
    if code.full is None:
        return
    found = list(_unknown(code))
    if not found:
        note = "every case that debug information names is one of the full build's"
        yield Verdict("section", CASES, ABSENT, PASS, REMOVED_BY_COMPILER, 0, (note,))
        return
    notes = tuple(
        f"{part.bytes} bytes of the case of {dtype} in {demangle(part.host)} at {part.address:#x}"
        for dtype, part in found[:_MOST_SHOWN]
    )
    size = sum(part.bytes for _, part in found)
    cause = f"a switch of its own in {demangle(found[0][1].host)}"
    yield Verdict("section", CASES, ABSENT, FAIL, STILL_THERE, size, notes, (), cause)


def _unknown(code: DeselectedCode) -> Iterator[tuple[str, Inlined]]:
    known: set[tuple[str, str]] = set()
    for name, part in code.evidence.inlined.items():
        for case in cases_in(name.encode()):
            if not known and code.full is not None:
                known = {c for file in code.full.files for c in compiled_cases(file).compiled}
            if case not in known:
                yield case[0], part
