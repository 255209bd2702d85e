"""Verdicts on dtype branches, and on bodies outside branches.

The image is that of recorded program 00: `main` has 3 bytes at 0x1040, and `subject` was discarded.
The functions that serve a dtype, contain a switch or have a case are made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.claims.claim import DtypeBranch, OtherBodies
from sizeguard.claims.verdict import (
    ABSENT,
    DISCARDED_BY_LINKER,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    PASS,
    PRESENT,
    REMOVED_BY_COMPILER,
    STILL_THERE,
    THERE,
    UNKNOWN,
    Verdict,
)
from sizeguard.verify.branches.branch_verdicts import NO_CONSTANT
from sizeguard.verify.branches.noted_code import Branch, CodeRange, NotedCode
from sizeguard.verify.evidence.evidence import Evidence, Inlined
from tests.support.builds.recorded_evidence import Opener
from tests.support.verdicts.made_branches import BLIND, FLOAT, HOST, Found, claim


def judged(evidence: Evidence, found: Found, expect: str, kept: tuple[Branch, ...] = ()) -> Verdict:
    question = DtypeBranch(*FLOAT)
    verdicts = found.verdicts(evidence, frozenset(kept), frozenset())
    verdict = verdicts.judge(claim(expect, question), question)
    assert (verdict.expect, verdict.name, verdict.kind) == (expect, "t:Float", "dtype")
    return verdict


THERE_, GONE = {FLOAT: ("main",)}, {FLOAT: ("subject",)}
CASE = {FLOAT: [CodeRange(16, 24, "main"), CodeRange(32, 36, "subject")]}


@pytest.mark.parametrize(
    ("found", "lacks", "expected", "size"),
    [
        (Found(THERE_), False, (PASS, THERE), 3),
        (Found(THERE_), True, (PASS, THERE), 3),
        (Found(GONE, cases=CASE), False, (PASS, THERE), 12),
        (Found(GONE, cases=CASE), True, (PASS, THERE), 12),
        (Found(GONE, HOST), True, (INCONCLUSIVE, UNKNOWN), 0),
        (Found(GONE, HOST, blind=BLIND), False, (INCONCLUSIVE, UNKNOWN), 0),
        (Found(GONE), False, (NOT_APPLICABLE, UNKNOWN), 0),
        (Found(GONE, HOST), False, (FAIL, DISCARDED_BY_LINKER), 0),
        (Found({}, HOST), False, (FAIL, REMOVED_BY_COMPILER), 0),
    ],
)
def test_a_selected_branch_has_to_be_there(
    opened: Opener, found: Found, lacks: bool, expected: tuple[str, str], size: int
) -> None:
    verdict = judged(opened(lacks=lacks), found, PRESENT)
    assert (verdict.verdict, verdict.how, verdict.bytes) == (*expected, size)
    if size == 12:
        assert verdict.evidence == ("12 bytes of its case are in main",)
    if verdict.verdict == INCONCLUSIVE:
        assert ("no map" if lacks else BLIND[0]) in verdict.evidence


@pytest.mark.parametrize(
    ("compiled", "expected"),
    [
        (frozenset({FLOAT}), (PASS, "debug information names the case, and main is in the image")),
        (frozenset(), (INCONCLUSIVE, "its case has no code, and its bodies are unknown")),
    ],
)
def test_a_case_that_only_chooses_an_address_has_no_code(
    opened: Opener, compiled: frozenset[Branch], expected: tuple[str, str]
) -> None:
    found = Found({}, HOST, compiled=compiled, is_of_others=True)
    verdict = judged(opened(), found, PRESENT)
    assert (verdict.verdict, *verdict.evidence) == expected


NOTED = Found(GONE, HOST)


@pytest.mark.parametrize(
    ("found", "lacks", "expected", "size"),
    [
        # Its body is in the image
        (Found(THERE_), False, (FAIL, STILL_THERE), 3),
        (Found(THERE_), True, (FAIL, STILL_THERE), 3),
        (Found(THERE_, compiled=frozenset({FLOAT})), False, (FAIL, STILL_THERE), 3),
        # A kernel without such a switch calls it, as in a full build
        (
            Found(THERE_, instances=(("main", ()),), claimed=("main",), used=("main",)),
            False,
            (PASS, REMOVED_BY_COMPILER),
            0,
        ),
        (
            Found(THERE_, instances=(("main", ()),), claimed=("main",), used=("subject",)),
            False,
            (FAIL, STILL_THERE),
            3,
        ),
        # Its case is, in another function
        (Found(GONE, cases=CASE), False, (FAIL, STILL_THERE), 12),
        # It was compiled, and a function with the switch is in the image
        (replace(NOTED, compiled=frozenset({FLOAT})), False, (FAIL, STILL_THERE), 0),
        (Found(GONE, compiled=frozenset({FLOAT})), False, (PASS, DISCARDED_BY_LINKER), 0),
        # That function refers to its body
        (replace(NOTED, refers={"main": {"subject"}}), False, (FAIL, STILL_THERE), 0),
        (replace(NOTED, refers={"main": {"other"}}), False, (PASS, DISCARDED_BY_LINKER), 0),
        (Found({}, HOST, {"main": {"subject"}}), False, (PASS, REMOVED_BY_COMPILER), 0),
        # Nothing says so, and debug information would
        (NOTED, False, (PASS, DISCARDED_BY_LINKER), 0),
        (NOTED, True, (INCONCLUSIVE, UNKNOWN), 0),
        (replace(NOTED, blind=BLIND), False, (INCONCLUSIVE, UNKNOWN), 0),
        (Found({}, HOST, switches={}), False, (INCONCLUSIVE, UNKNOWN), 0),
        (Found({}, HOST, switches={}), True, (INCONCLUSIVE, UNKNOWN), 0),
        (Found({}, HOST, switches={}, patterns={"t": ()}), False, (INCONCLUSIVE, UNKNOWN), 0),
        (Found({}, HOST, switches={}, patterns={"t": ("f<T>",)}), False, (PASS, "removed"), 0),
        (Found({}, HOST, switches={"t": ()}), False, (PASS, "removed"), 0),
    ],
)
def test_a_branch_that_is_not_selected_has_to_be_absent(
    opened: Opener, found: Found, lacks: bool, expected: tuple[str, str], size: int
) -> None:
    verdict = judged(opened(lacks=lacks), found, ABSENT)
    assert (verdict.verdict, verdict.bytes) == (expected[0], size)
    assert verdict.how.startswith(expected[1])
    assert (NO_CONSTANT in verdict.cause) == (
        verdict.verdict == FAIL and (found.pieces != THERE_ or bool(found.compiled))
    )
    if verdict.verdict == FAIL:
        assert bool(verdict.chain) == (not found.cases)
    if lacks and expected[0] == INCONCLUSIVE:
        assert "no map" in verdict.evidence


KEPT = ("t", "Int")
OTHER = ("u", "Int")


@pytest.mark.parametrize(
    ("pieces", "hosts", "kept", "expected"),
    [
        # Another selected branch has the body, too
        ({**THERE_, KEPT: ("main",)}, {}, KEPT, PASS),
        ({**THERE_, KEPT: ("main",)}, {}, OTHER, FAIL),
        ({**THERE_, OTHER: ("main",)}, {}, OTHER, PASS),
        # The function with the switch refers to the body for a selected branch of its tag
        ({**GONE, KEPT: ("subject",)}, HOST, KEPT, PASS),
        ({**GONE, KEPT: ()}, HOST, KEPT, FAIL),
        ({**GONE, KEPT: ("main",)}, HOST, KEPT, FAIL),
        # or of another tag, if it has such a switch, too
        ({**GONE, OTHER: ("subject",)}, {**HOST, "u": ("main",)}, OTHER, PASS),
        ({**GONE, OTHER: ("subject",)}, {**HOST, "u": ("main", "subject")}, OTHER, PASS),
        ({**GONE, OTHER: ("subject",)}, {**HOST, "u": ("subject",)}, OTHER, FAIL),
        ({**GONE, OTHER: ("subject",)}, HOST, OTHER, FAIL),
    ],
)
def test_a_body_of_a_selected_branch_says_nothing_of_another(
    opened: Opener,
    pieces: Mapping[Branch, tuple[str, ...]],
    hosts: Mapping[str, tuple[str, ...]],
    kept: Branch,
    expected: str,
) -> None:
    found = Found(pieces, hosts, {"main": {"subject"}})
    assert judged(opened(), found, ABSENT, (kept,)).verdict == expected


@pytest.mark.parametrize(
    ("found", "kept", "expected", "size"),
    [
        (Found(GONE, inlined={FLOAT: ("loop",)}), (), FAIL, 9),
        (Found(GONE, inlined={FLOAT: ("loop",)}, used=("loop",)), (), PASS, 0),
        (Found(GONE, inlined={FLOAT: ("elsewhere",)}), (), PASS, 0),
        # A selected branch of another tag has the body, too.
        (Found(GONE, inlined={FLOAT: ("loop",), OTHER: ("loop",)}), (OTHER,), PASS, 0),
        (Found(GONE, inlined={FLOAT: ("loop",), OTHER: ("loop",)}), (), FAIL, 9),
    ],
)
def test_a_body_that_is_only_inlined_counts(
    opened: Opener, found: Found, kept: tuple[Branch, ...], expected: str, size: int
) -> None:
    evidence = opened()
    evidence.__dict__["inlined"] = {"loop": Inlined(0x1040, 9, "main")}
    verdict = judged(evidence, replace(found, patterns={"t": ("loop<T>",)}), ABSENT, kept)
    assert (verdict.verdict, verdict.bytes) == (expected, size)
    assert ("main" in verdict.cause) == (expected == FAIL)


@pytest.mark.parametrize(
    ("symbol", "arguments", "claimed", "allowed", "expected"),
    [
        ("main", ("bool",), (), (), FAIL),
        ("main", ("bool",), (), ("main<bool>",), PASS),
        ("main", ("bool",), (), ("main<int>",), FAIL),
        ("main", ("bool",), ("main",), (), PASS),  # the claim on its branch covers it
        ("main", (), (), (), PASS),  # not a template's
        ("subject", ("bool",), (), (), PASS),
    ],
)
def test_instances_outside_of_branches_have_to_be_allowed(
    opened: Opener,
    symbol: str,
    arguments: tuple[str, ...],
    claimed: tuple[str, ...],
    allowed: tuple[str, ...],
    expected: str,
) -> None:
    found = Found(instances=((symbol, arguments),), claimed=claimed)
    verdicts = found.verdicts(opened(), frozenset(), frozenset(allowed))
    verdict = verdicts.judge_others(claim(ABSENT, OtherBodies()))
    assert (verdict.verdict, verdict.expect) == (expected, ABSENT)


@pytest.mark.parametrize(
    ("arguments", "kept", "found", "expected"),
    [
        (("Op", "float"), FLOAT, Found(hosts=HOST, refers={"main": {"subject", "main"}}), PASS),
        (("Op", "float", "bool"), FLOAT, Found(hosts=HOST, refers={"main": {"main"}}), PASS),
        (("Op", "double"), FLOAT, Found(hosts=HOST, refers={"main": {"main"}}), FAIL),
        (("float", "double"), FLOAT, Found(hosts=HOST, refers={"main": {"main"}}), FAIL),
        (("Op", "bool"), FLOAT, Found(hosts=HOST, refers={"main": {"main"}}), FAIL),
        (("Op", "bool"), ("t", "Bool"), Found(hosts=HOST, refers={"main": {"main"}}), PASS),
        (("7",), FLOAT, Found(hosts=HOST, refers={"main": {"main"}}), FAIL),
        (("Op", "float"), FLOAT, Found(hosts=HOST, refers={"main": {"subject"}}), FAIL),
        # The tag's switch has no function any more; its object is known.
        (("Op", "float"), FLOAT, Found(named=("t",)), PASS),
        (("Op", "float"), FLOAT, Found(named=("other",)), FAIL),
        (("Op", "double"), FLOAT, Found(named=("t",)), FAIL),
        (("Op", "float"), FLOAT, Found(hosts=HOST, named=("t",)), FAIL),
    ],
)
def test_an_unknown_instance_may_serve_a_selected_dtype_of_its_switch(
    opened: Opener, arguments: tuple[str, ...], kept: Branch, found: Found, expected: str
) -> None:
    found = replace(found, instances=(("main", arguments),))
    verdicts = found.verdicts(opened(), frozenset({kept}), frozenset())
    assert verdicts.judge_others(claim(ABSENT, OtherBodies())).verdict == expected


@pytest.mark.parametrize(
    ("strings", "expected"),
    [
        (b"add\0x", True),
        (b"x\0add\0", True),
        (b"x\0add_\0", False),
        (b"x\0fadd\0", False),
        (b"x\0add", False),  # a string has an end
        (b"", False),
    ],
)
def test_an_object_that_names_no_tag_has_no_switch(strings: bytes, expected: bool) -> None:
    section = SimpleNamespace(name=".debug_str", file_size=len(strings))
    file: Any = SimpleNamespace(
        elf=SimpleNamespace(sections=(section,), content=lambda section: strings)
    )
    nothing: Any = None
    assert NotedCode(nothing, nothing).can_switch("add", file) == expected


@pytest.mark.parametrize(
    ("code", "dtype"), [("6", "Float"), ("8", "code 8"), ("9" * 5000, f"code {'9' * 5000}")]
)
def test_any_code_of_a_dtype_has_a_name(code: str, dtype: str) -> None:
    """Names of damaged debug information have numbers of any length."""
    words: Any = SimpleNamespace(case="run_case", switch="SwitchNote")
    nothing: Any = None
    noted = NotedCode(nothing, words)
    case = f"run_case<(sg::ScalarType){code}, float, sel::add, main::lambda>()"
    switch = f"leave_switch<SwitchNote<sel::add, (sg::ScalarType){code}>>()"
    assert noted.case_of(case) == ("add", dtype)
    assert noted.switch_of(switch) == ("add", (dtype,))
