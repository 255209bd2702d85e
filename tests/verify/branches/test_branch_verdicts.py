"""Verdicts on dtype branches, on bodies outside branches, and on the handler of deselected dtypes.

The image is recorded program 00: `main` is 3 bytes at 0x1040, `subject` was discarded. Which
functions serve a dtype, contain a switch or have a case is made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.claims.claim import Claim, DtypeBranch, OtherBodies, Question, SwitchHandler
from sizeguard.claims.verdict import (
    ABSENT,
    DISCARDED_BY_LINKER,
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
from sizeguard.verify.branches.bodies import Instance
from sizeguard.verify.branches.branch_verdicts import NO_CONSTANT, BranchVerdicts
from sizeguard.verify.branches.noted_code import Branch, CodeRange, NotedCode
from sizeguard.verify.evidence.evidence import Evidence, Inlined
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.returns import declarations, judge_returns
from tests.support.builds.recorded_evidence import Opener, opener_of_programs, runtime_evidence

FLOAT = ("t", "Float")
BLIND = ("a.o has no debug information",)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opener:
    """Open the program's evidence; with a gap if `lacks` is true."""
    programs = opener_of_programs(tmp_path_factory.mktemp("recorded"))

    def opener(*, lacks: bool = False) -> Evidence:
        found = programs(lacks=lacks)
        found.__dict__["undescribed_notes"] = ()  # as if it had debug information
        return found

    return opener


@dataclass(frozen=True)
class Found:
    """What is known of tags and dtypes, by names of functions."""

    pieces: Mapping[Branch, tuple[str, ...]] = field(default_factory=dict)
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refers: Mapping[str, set[str]] = field(default_factory=dict)
    cases: Mapping[Branch, list[CodeRange]] = field(default_factory=dict)
    compiled: frozenset[Branch] = frozenset()
    switches: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"t": ("Float",)})
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    blind: tuple[str, ...] = ()
    instances: tuple[tuple[str, tuple[str, ...]], ...] = ()
    claimed: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    is_of_others: bool = False  # whether known bodies are those of other dtypes
    named: tuple[str, ...] = ()  # tags that the objects name
    inlined: Mapping[Branch, tuple[str, ...]] = field(default_factory=dict)

    def verdicts(
        self, evidence: Evidence, kept: frozenset[Branch], others: frozenset[str]
    ) -> BranchVerdicts:
        def piece(symbol: str) -> NamedPiece:
            (found,) = evidence.objects.index[symbol.partition(".")[0]]
            return replace(found, symbol=symbol)

        def of(symbols: tuple[str, ...]) -> list[NamedPiece]:
            return [piece(symbol) for symbol in symbols]

        evidence.__dict__["undescribed_notes"] = self.blind
        instances = [
            Instance(symbol, arguments, piece(symbol)) for symbol, arguments in self.instances
        ]
        bodies: Any = SimpleNamespace(
            evidence=evidence,
            noted=SimpleNamespace(
                cases=self.cases,
                hosts=lambda tag: dict.fromkeys(self.hosts.get(tag, ()), 0x1040),
                compiled=self.compiled,
                switches=self.switches,
                can_switch=lambda tag, file: tag in self.named,
            ),
            are_of_other_dtypes=lambda tag, dtype: self.is_of_others,
            pieces=lambda tag, dtype: of(self.pieces.get((tag, dtype), ())),
            host_pieces=lambda tag: of(self.hosts.get(tag, ())),
            of_host=lambda host: self.refers.get(host.symbol, set()),
            patterns=self.patterns,
            instances=instances,
            of_branch={FLOAT: [each for each in instances if each.name in self.claimed]},
            inlined_of_branch={
                branch: [Instance(s, ("float",), NamedPiece(-1, 0, 0, 9, s)) for s in symbols]
                for branch, symbols in self.inlined.items()
            },
        )
        users: Any = SimpleNamespace(
            explain=lambda instance: instance.name in self.used,
            explain_inlined=lambda instance: instance.name in self.used,
        )
        return BranchVerdicts(bodies, kept, others, users)


def claim(expect: str, question: Question) -> Claim:
    return Claim("dtype", "t:Float", expect, question)


def judged(evidence: Evidence, found: Found, expect: str, kept: tuple[Branch, ...] = ()) -> Verdict:
    question = DtypeBranch(*FLOAT)
    verdicts = found.verdicts(evidence, frozenset(kept), frozenset())
    verdict = verdicts.judge(claim(expect, question), question)
    assert (verdict.expect, verdict.name, verdict.kind) == (expect, "t:Float", "dtype")
    return verdict


THERE_, GONE = {FLOAT: ("main",)}, {FLOAT: ("subject",)}
CASE = {FLOAT: [CodeRange(16, 24, "main"), CodeRange(32, 36, "subject")]}
HOST = {"t": ("main",)}


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
