"""Planted claims must fail: a verifier that passes one is broken."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizeguard.claims.verdict import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    PASS,
    PRESENT,
    Verdict,
)
from sizeguard.formats.elf import Symbol
from sizeguard.formats.elf.layout import STT_OBJECT
from sizeguard.verify import canaries
from sizeguard.verify.canaries import must_fail
from sizeguard.verify.known_names import ClaimNames
from tests.support.builds.recorded_evidence import Opener
from tests.support.verdicts.made_verdicts import verdict


def test_a_planted_claim_has_to_fail() -> None:
    assert must_fail(verdict(FAIL)) == []
    for outcome in (PASS, INCONCLUSIVE, NOT_APPLICABLE):
        assert must_fail(verdict(outcome)) == [
            f"a planted claim (symbol x absent) came out {outcome}"
        ]


@pytest.mark.parametrize(
    ("dead", "alive", "notes"),
    [
        ((INCONCLUSIVE,), (FAIL,), 0),
        ((FAIL,), (FAIL,), 0),
        ((FAIL, PASS), (FAIL,), 1),
        ((PASS,), (PASS,), 2),
        ((FAIL,), (PASS,), 1),
        ((FAIL,), (INCONCLUSIVE,), 1),
        ((FAIL,), (PASS, FAIL), 0),
    ],
)
def test_a_verifier_that_misjudges_a_known_symbol_is_broken(
    opened: Opener,
    monkeypatch: pytest.MonkeyPatch,
    dead: tuple[str, ...],
    alive: tuple[str, ...],
    notes: int,
) -> None:
    asked = []

    def judge_named(names: ClaimNames, text: str, expect: str) -> tuple[Verdict, ...]:
        asked.append((text, expect))
        return tuple(map(verdict, dead if text == canaries.DEAD else alive))

    monkeypatch.setattr(canaries, "judge_named", judge_named)
    assert len(canaries.check_symbols(opened("00"))) == notes
    assert asked == [(canaries.DEAD, PRESENT), ("main", ABSENT)]


def test_the_largest_function_has_to_be_found_by_its_bytes(opened: Opener) -> None:
    evidence = opened("one-section")
    assert canaries.check_symbols(evidence) == []
    moved = {node: at + 1 for node, at in evidence.placement.address.items()}
    broken = replace(evidence, placement=replace(evidence.placement, address=moved))
    (note,) = canaries.check_symbols(broken)
    assert note.startswith("the machine code of .text was not found in the image")
    # Code of the toolchain alone is none that could be looked for
    assert canaries.check_symbols(replace(broken, own=0)) == []


@pytest.mark.parametrize("has_map", [True, False])
def test_a_symbol_that_must_be_there_is_known_for_every_image(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, has_map: bool
) -> None:
    """A library has no entry point, so any of its functions or symbols counts."""
    monkeypatch.setattr(canaries, "_ALIVE", ("nobody",))
    evidence = opened("shared")
    if not has_map:
        evidence = replace(evidence, placement=replace(evidence.placement, address={}))
    asked: list[str] = []

    def judge_named(names: ClaimNames, text: str, expect: str) -> tuple[Verdict, ...]:
        asked.append(text)
        return (verdict(FAIL),)

    monkeypatch.setattr(canaries, "judge_named", judge_named)
    assert canaries.check_symbols(evidence) == []
    if has_map:
        assert evidence.objects.find(asked[1]) or asked[1] in evidence.symbols
        (piece,) = evidence.objects.find(asked[1])
        assert evidence.objects.section(piece).is_executable
    else:
        assert asked[1] in evidence.symbols


def test_a_name_of_a_version_is_no_symbol_that_must_be_there(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ZLIB_1.2.2 is a number: no claim on it can fail, and libz.so was called broken."""
    evidence = opened("shared")
    evidence = replace(evidence, placement=replace(evidence.placement, address={}))
    version = Symbol("VERS_1", 0, 0, STT_OBJECT, 1, -15)
    evidence.__dict__["symbols"] = {"VERS_1": [version], **evidence.symbols}
    monkeypatch.setattr(canaries, "_ALIVE", ("nobody",))
    assert canaries.check_symbols(evidence) == []


def test_without_any_symbol_only_the_unknown_one_is_judged(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = opened("shared")
    evidence = replace(evidence, placement=replace(evidence.placement, address={}))
    evidence.__dict__["symbols"] = {}
    monkeypatch.setattr(canaries, "_ALIVE", ("nobody",))
    asked: list[str] = []

    def judge_named(names: ClaimNames, text: str, expect: str) -> tuple[Verdict, ...]:
        asked.append(text)
        return (verdict(INCONCLUSIVE),)

    monkeypatch.setattr(canaries, "judge_named", judge_named)
    assert canaries.check_symbols(evidence) == []
    assert asked == [canaries.DEAD]
