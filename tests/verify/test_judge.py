"""The judge of a build's claims: which question each claim asks, and which claims are added.

Registered names, kernels and branches are made up; the evidence is that of recorded programs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from sizeguard.claims.claim import (
    Claim,
    ClaimSet,
    DtypeBranch,
    Exported,
    FeatureCode,
    HiddenRemains,
    KernelCode,
    LostCode,
    NamedByUser,
    NeverReturns,
    OtherBodies,
    Question,
    RegisteredName,
    SameSelection,
    StartUp,
    SwitchHandler,
    Vocabulary,
)
from sizeguard.claims.verdict import (
    ABSENT,
    BROKEN,
    FAIL,
    INCONCLUSIVE,
    NOT_APPLICABLE,
    OK,
    PASS,
    PRESENT,
    UNKNOWN,
    Verdict,
)
from sizeguard.names.registered import Registration
from sizeguard.verify import judge_claims, verification
from sizeguard.verify.code_presence import FoundCode
from sizeguard.verify.evidence.evidence import Evidence
from sizeguard.verify.evidence.object_evidence import NamedPiece
from sizeguard.verify.judge_claims import Judge
from tests.support.builds.recorded_evidence import Opener

VOCABULARY = Vocabulary(kernels="sg::kernels::", handler="lost", handler_symbol="4lost")


@dataclass
class Tables:
    """Names that the image registers, and classes that objects register."""

    evidence: Evidence
    operators: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    registered_classes: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        return self.operators

    def entries(self, kind: str, name: str) -> tuple[Registration, ...]:
        known = self.registered_classes if kind == "class" else self.operators
        return (Registration(name, 1, 2, 16),) if name in known else ()

    def written(self, kind: str, name: str) -> list[NamedPiece]:
        return []

    def files_with_entries(self) -> set[int]:
        return set()

    def files_that_register(self) -> set[int]:
        return set()


@dataclass
class Branches:
    """Names the question of each claim in its verdict."""

    switches: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def bodies(self) -> SimpleNamespace:
        return SimpleNamespace(noted=self, unused=lambda kept, gone: {"body": (kept, gone)})

    @property
    def kept(self) -> frozenset[tuple[str, str]]:
        return frozenset({("t", "Int")})

    def judge(self, claim: Claim, question: DtypeBranch) -> Verdict:
        return self._told(claim, f"branch {question.dtype}")

    def judge_handler(self, claim: Claim, question: SwitchHandler, handler: str) -> Verdict:
        return self._told(claim, f"handler {handler}")

    def judge_others(self, claim: Claim) -> Verdict:
        return self._told(claim, "others")

    def _told(self, claim: Claim, text: str) -> Verdict:
        return Verdict(claim.kind, claim.name, claim.expect, PASS, UNKNOWN, 0, (text,))


def judge_of(
    evidence: Evidence,
    *claims: Claim,
    tables: Tables | None = None,
    branches: Branches | None = None,
    kernels: tuple[str, ...] = (),
) -> Judge:
    """Make a judge; kernels: those that have code in the image."""
    given = ClaimSet(claims, VOCABULARY, (), frozenset(), {}, frozenset(), {}, {})
    judge = Judge(evidence, given)
    there = FoundCode(((0x1000, 4),), (), (), ("here",))
    judge.__dict__["tables"] = tables or Tables(evidence)
    judge.__dict__["branches"] = branches or Branches()
    judge.__dict__["kernels"] = SimpleNamespace(
        find=lambda name: there if name in kernels else FoundCode((), (), (), ())
    )
    return judge


def claim(kind: str, name: str, expect: str, question: Question, reason: str = "") -> Claim:
    return Claim(kind, name, expect, question, reason)


def operator(name: str, expect: str, reason: str = "") -> Claim:
    return claim("operator", name, expect, RegisteredName("operator", name), reason)


def kernel(name: str, expect: str) -> Claim:
    return claim("kernel", name, expect, KernelCode(name))


def whole(question: Question) -> Claim:
    return claim("section", "whole", ABSENT, question)


def test_each_question_is_judged_by_its_evidence(opened: Opener) -> None:
    evidence = opened()
    tables = Tables(evidence, ("x::a",))
    judge = judge_of(evidence, tables=tables, kernels=("k",))
    for asked, expected in (
        (operator("x::a", PRESENT), PASS),
        (operator("x::a", ABSENT), FAIL),
        (operator("x::b", ABSENT), PASS),
        (operator("x::a", ABSENT, "no table"), NOT_APPLICABLE),
        (kernel("k", ABSENT), FAIL),
        (kernel("k", PRESENT), PASS),
        (claim("feature", "f", ABSENT, FeatureCode("f")), INCONCLUSIVE),
        (claim("selection", "s", ABSENT, SameSelection(("x",))), FAIL),
        (claim("selection", "s", ABSENT, SameSelection(())), PASS),
    ):
        assert judge.judge(asked).verdict == expected, asked
    for question, text in (
        (DtypeBranch("t", "Float"), "branch Float"),
        (SwitchHandler("t", ("Int",)), "handler lost"),
        (OtherBodies(), "others"),
    ):
        assert judge.judge(claim("dtype", "x", ABSENT, question)).evidence == (text,)
    with pytest.raises(TypeError, match="is judged with the names of its image"):
        judge.judge(claim("symbol", "f", ABSENT, NamedByUser("f")))


@pytest.mark.parametrize(
    ("program", "question", "lacks", "expected"),
    [
        ("00", StartUp(), False, PASS),
        ("00", StartUp(), True, INCONCLUSIVE),
        ("01", StartUp(), False, FAIL),
        ("00", Exported(), False, PASS),
        ("export-dynamic", Exported(), False, FAIL),
        ("shared", Exported(), False, NOT_APPLICABLE),
        ("shared", Exported(), True, INCONCLUSIVE),
        ("00", LostCode(), False, PASS),
        ("no-gc", LostCode(), False, FAIL),
        ("shared", LostCode(), False, NOT_APPLICABLE),
        ("00", NeverReturns(), False, NOT_APPLICABLE),
    ],
)
def test_a_claim_on_the_whole_image(
    opened: Opener, program: str, question: Question, lacks: bool, expected: str
) -> None:
    evidence = opened(program, lacks=lacks)
    evidence.__dict__["undescribed_notes"] = ()
    found = judge_of(evidence).judge(whole(question))
    assert (found.verdict, found.expect, found.name) == (expected, ABSENT, "whole")
    assert found.evidence


@pytest.mark.parametrize("branches", [Branches({"t": ("Float",)}), Branches()])
def test_callers_of_a_handler_are_judged_where_a_switch_may_be(
    opened: Opener, branches: Branches
) -> None:
    found = judge_of(opened(), branches=branches).judge(whole(NeverReturns()))
    assert found.verdict == INCONCLUSIVE  # the program has no debug information


def test_hidden_code_is_looked_for_by_the_names_that_are_claimed_absent(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name with an entry fails by itself."""
    asked: list[object] = []

    def judge_leaks(evidence: Evidence, deselected: object) -> list[Verdict]:
        asked.append(deselected)
        return []

    monkeypatch.setattr(judge_claims, "judge_leaks", judge_leaks)
    claims = (
        operator("x::gone", ABSENT), operator("x::left", ABSENT), operator("x::kept", PRESENT),
        operator("x::never", ABSENT, "no reason"), kernel("gone", ABSENT), kernel("kept", PRESENT),
        claim("class", "C", ABSENT, RegisteredName("class", "C")),
        claim("class", "D", ABSENT, RegisteredName("class", "D")),
    )  # fmt: skip
    evidence = opened()
    tables = Tables(evidence, ("x::left",), registered_classes=("D",))
    judge_of(evidence, *claims, tables=tables).judge(whole(HiddenRemains()))
    assert asked == [judge_claims.Deselected(("x::gone",), ("gone",), ("C",), {})]
    absent = claim("dtype", "t:Float", ABSENT, DtypeBranch("t", "Float"))
    judge_of(evidence, absent, tables=tables).judge(whole(HiddenRemains()))
    bodies = {"body": (frozenset({("t", "Int")}), {("t", "Float")})}
    assert asked[1:] == [judge_claims.Deselected((), (), (), bodies)]


def test_what_no_claim_names_is_claimed_absent(opened: Opener) -> None:
    evidence = opened()
    tables = Tables(evidence, ("x::b", "x::a"), ("C",))
    branches = Branches({"t": ("Float", "Int")})
    claims = (operator("x::a", PRESENT),)
    found = judge_of(evidence, *claims, tables=tables, branches=branches).unexpected()
    assert [each.key for each in found] == [("operator", "x::b", ABSENT), ("class", "C", ABSENT)]
    # Branches are added to those that are claimed
    claims = (*claims, claim("dtype", "t:Int", PRESENT, DtypeBranch("t", "Int")))
    judge = judge_of(evidence, *claims, tables=tables, branches=branches)
    assert [each.key for each in judge.unexpected()][2:] == [("dtype", "t:Float", ABSENT)]
    verdicts = judge.verdicts()
    assert [(each.name, each.expect) for each in verdicts][:3] == [
        ("x::a", PRESENT),
        ("t:Int", PRESENT),
        ("x::b", ABSENT),
    ]
    assert len(verdicts) == 5


def test_selected_branches_are_those_claimed_present(opened: Opener) -> None:
    claims = (
        claim("dtype", "t:Int", PRESENT, DtypeBranch("t", "Int")),
        claim("dtype", "t:Float", ABSENT, DtypeBranch("t", "Float")),
        kernel("k", PRESENT),
    )
    judge = judge_of(opened(), *claims)
    del judge.__dict__["branches"]
    assert judge.branches.kept == {("t", "Int")}


SILENT = "the kernel of no selected operator was found in the image"


@pytest.mark.parametrize(
    ("claims", "kernels", "lacks", "notes"),
    [
        ((operator("x::a", PRESENT), kernel("k", PRESENT)), ("k",), False, []),
        ((operator("x::a", PRESENT), kernel("k", PRESENT)), (), False, [SILENT]),
        ((operator("x::a", PRESENT), kernel("k", ABSENT)), ("k",), False, [SILENT]),
        ((operator("x::a", PRESENT),), (), False, [SILENT]),
        ((operator("x::a", PRESENT),), (), True, []),
        ((operator("x::b", PRESENT), kernel("k", PRESENT)), (), False, []),
        ((operator("x::a", ABSENT),), (), False, []),
        (
            (kernel("j", PRESENT), kernel("k", PRESENT), operator("x::a", PRESENT)),
            ("k",),
            False,
            [],
        ),
    ],
)
def test_planted_claims_on_a_build(
    opened: Opener,
    monkeypatch: pytest.MonkeyPatch,
    claims: tuple[Claim, ...],
    kernels: tuple[str, ...],
    lacks: bool,
    notes: list[str],
) -> None:
    evidence = opened(lacks=lacks)
    judge = judge_of(evidence, *claims, tables=Tables(evidence, ("x::a",)), kernels=kernels)
    planted: list[tuple[str, str, str]] = []
    must_fail = judge_claims.must_fail

    def recorded(found: Verdict) -> list[str]:
        planted.append((found.kind, found.name, found.expect))
        return must_fail(found)

    monkeypatch.setattr(judge_claims, "must_fail", recorded)
    found = judge.canary_notes()
    assert [each[: len(SILENT)] for each in found] == notes
    expected = [("operator", "canary::nobody_registered_this", PRESENT)]
    if operator("x::a", PRESENT) in claims:
        expected.append(("operator", "x::a", ABSENT))
    if kernels and kernel("k", PRESENT) in claims:
        expected.append(("kernel", "k", ABSENT))
    assert planted == expected


@pytest.mark.parametrize("notes", [(), ("a planted claim passed",)])
def test_a_verification_with_a_note_of_a_canary_is_broken(
    opened: Opener, monkeypatch: pytest.MonkeyPatch, notes: tuple[str, ...]
) -> None:
    monkeypatch.setattr(verification, "check_symbols", lambda evidence: list(notes))
    named = (Verdict("symbol", "f", ABSENT, PASS, UNKNOWN, 0, ()),)
    found = verification.verify_claims(opened(), "a", "b", None, named)
    assert (found.verdicts, found.canary_notes) == (named, notes)
    assert found.canary == (BROKEN if notes else OK)
    given = ClaimSet((), VOCABULARY, (), frozenset(), {}, frozenset(), {}, {})
    whole_build = verification.verify_claims(opened(), "a", "b", given, named)
    assert whole_build.verdicts[-1:] == named
    assert whole_build.canary_notes == notes
