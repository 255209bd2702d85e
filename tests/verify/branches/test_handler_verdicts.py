"""Verdicts on the handler of deselected dtypes: switches reach it, and it never returns.

The image is that of recorded program 00; the functions that contain a switch are made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.claims.claim import SwitchHandler
from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    NOT_GENERATED,
    PASS,
    PRESENT,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.verify import returns
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.returns import declarations, judge_returns
from tests.support.builds.recorded_evidence import Opener, runtime_evidence
from tests.support.verdicts.made_branches import BLIND, HOST, Found, claim


def handled(evidence: Evidence, found: Found, handler: str = "lost") -> Verdict:
    question = SwitchHandler("t", ("Int",))
    verdicts = found.verdicts(evidence, frozenset(), frozenset())
    verdict = verdicts.judge_handler(claim(PRESENT, question), question, handler)
    assert verdict.expect == PRESENT
    return verdict


BOTH = {"t": ("main", "subject")}
CALLS, LEAVES = {"_ZN2sg4lostEv"}, {"_ZN2sg5otherEv"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Found(), (NOT_APPLICABLE, UNKNOWN)),
        (Found(blind=BLIND), (INCONCLUSIVE, UNKNOWN)),
        (Found({}, HOST, {"main": CALLS}), (PASS, THERE)),
        (Found({}, HOST, {"main": CALLS}, blind=BLIND), (PASS, THERE)),
        (Found({}, HOST, {"main": LEAVES}), (FAIL, NOT_GENERATED)),
        (Found({}, BOTH, {"main": CALLS, "subject": LEAVES}), (FAIL, NOT_GENERATED)),
        (Found({}, BOTH, {"main": LEAVES, "subject": CALLS}), (FAIL, NOT_GENERATED)),
        # A function and its cold part count as one
        (Found({}, {"t": ("main", "main.cold")}, {"main.cold": CALLS}), (PASS, THERE)),
    ],
)
def test_each_switch_has_to_reach_the_handler(
    opened: Opener, found: Found, expected: tuple[str, str]
) -> None:
    evidence = opened()
    verdict = handled(evidence, found)
    assert (verdict.verdict, verdict.how) == expected
    if verdict.verdict == PASS:
        assert verdict.evidence == ("main at 0x1040 refers to it",)
    # Without a map, the places of sections may be known by their bytes
    blind = replace(evidence, placement=replace(evidence.placement, has_map=False))
    assert handled(blind, found).verdict == verdict.verdict
    nowhere = replace(blind, placement=replace(blind.placement, address={}))
    assert handled(nowhere, found).verdict == INCONCLUSIVE


@pytest.mark.parametrize(
    ("hosts", "handler", "expected"),
    [
        (HOST, "main", PASS),
        (HOST, "subject", FAIL),  # discarded
        (HOST, "mai", FAIL),  # a part of a name is none
        ({}, "main", NOT_APPLICABLE),
        ({}, "subject", NOT_APPLICABLE),
    ],
)
def test_with_lto_the_handler_has_to_be_anywhere(
    opened: Opener, hosts: Mapping[str, tuple[str, ...]], handler: str, expected: str
) -> None:
    evidence = opened()
    files = tuple(replace(file, label="x.ltrans0.o") for file in evidence.objects.files)
    evidence = replace(evidence, objects=replace(evidence.objects, files=files, _index={}))
    assert evidence.has_lto
    assert handled(evidence, Found({}, hosts), handler).verdict == expected


@pytest.mark.parametrize(
    ("seen", "expected", "note"),
    [
        ([], (INCONCLUSIVE, UNKNOWN), "no debug information describes lost"),
        ([("a.cpp", True)], (PASS, REMOVED_BY_COMPILER), "[[noreturn]] in all 1 compilation units"),
        (
            [("a.cpp", True), ("b.cpp", False), ("c.cpp", True)],
            (FAIL, STILL_THERE),
            "1 of 3 compilation units do not know that it never returns, such as b.cpp",
        ),
    ],
)
def test_each_unit_has_to_know_that_the_handler_never_returns(
    opened: Opener,
    monkeypatch: pytest.MonkeyPatch,
    seen: list[tuple[str, bool]],
    expected: tuple[str, str],
    note: str,
) -> None:
    monkeypatch.setattr(returns, "declarations", lambda image, wanted: seen)
    evidence = opened()
    evidence.__dict__["undescribed_notes"] = BLIND
    verdict = judge_returns(evidence, "4lost")
    assert (verdict.verdict, verdict.how, verdict.expect) == (*expected, ABSENT)
    assert (verdict.name, verdict.kind) == ("a way back from lost", "handler")
    assert verdict.evidence[0].startswith(note)
    assert (verdict.cause == "lost is not declared [[noreturn]]") == (expected[0] == FAIL)


def test_units_of_the_recorded_runtime_know_the_handler(tmp_path: Path, opened: Opener) -> None:
    image = runtime_evidence(tmp_path).image
    seen = declarations(image, b"18dtype_not_selected")
    assert seen
    assert all(is_noreturn for _, is_noreturn in seen)
    assert any(unit.endswith(".cpp") for unit, _ in seen)
    assert declarations(image, b"18dtype_not_selectex") == []
    assert declarations(opened().image, b"18dtype_not_selected") == []


def test_a_handler_that_is_nowhere_in_a_described_image_cannot_return(tmp_path: Path) -> None:
    evidence = runtime_evidence(tmp_path)
    assert evidence.frames is not None
    assert judge_returns(evidence, "6nobody").verdict == NOT_APPLICABLE
    # main() is in the image, and no debug information describes it by this mangled name.
    assert judge_returns(evidence, "4main").verdict == INCONCLUSIVE
    assert judge_returns(replace(evidence, gaps=("no map",)), "6nobody").verdict == INCONCLUSIVE
    evidence.__dict__["undescribed_notes"] = BLIND
    assert judge_returns(evidence, "6nobody").verdict == INCONCLUSIVE
