"""Test the gate's decisions on given verdicts: unknown or broken input never passes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import BuildError, InconclusiveError, InputError, SizeguardError
from sizeguard.builds.build_record import Build
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import BROKEN, FAIL, INCONCLUSIVE, OK, PASS, Verdict, Verification
from sizeguard.gate.elimination import (
    check_elimination,
    check_named_claims,
    judged_elimination,
    run_checks,
)
from sizeguard.gate.gate_result import (
    ABSOLUTE,
    GROWTH,
    NOT_RUN,
    AppResult,
    Check,
    GateResult,
    Problem,
    Saving,
    SelectionFinding,
    overall,
)
from sizeguard.gate.policy.checks import offers
from sizeguard.gate.policy.terms_result import PolicyChange, Waiver, WaiverUse
from sizeguard.gate.reference.not_measured import not_measured, unfinished
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.head_builds import HeadBuild
from sizeguard.projects.project import App, BuildSteps, ImageFiles
from tests.support.builds.recorded_builds import files_of_program, unpack

APP = App("vision", Path("/p/s.yaml"), (), ())
BUILD = Build(
    "selective/vision", "vision", "x86_64-linux", "gcc", "s", Path("/p/build/vision/run_program"),
    Path("/p/x"), Path("/p/m"), Path("/p/l"), (), Path("/p/e.yaml"), None, "f", Sizes(1, 2, 3, 4),
)  # fmt: skip


def claims(*verdicts: str) -> tuple[Verdict, ...]:
    return tuple(
        Verdict("operator", f"aten::x{i}", "absent", verdict, "gone", 0, ())
        for i, verdict in enumerate(verdicts)
    )


def elimination(
    *verdicts: str, canary: str = OK, libraries: tuple[str, ...] = ()
) -> tuple[str, int]:
    notes = () if canary == OK else ("a canary passed",)
    found = Verification("vision", "s.yaml", claims(*verdicts), (), canary, notes)
    check = judged_elimination(Path("/p"), APP, BUILD, found, libraries)
    assert bool(check.advice) == (check.verdict != PASS)
    assert check.headroom == -check.actual
    return check.verdict, check.actual


def test_elimination_fails_closed() -> None:
    assert elimination(PASS, PASS) == (PASS, 0)
    assert elimination(PASS, INCONCLUSIVE) == (INCONCLUSIVE, 1)
    assert elimination(FAIL, INCONCLUSIVE, FAIL) == (FAIL, 2)
    assert elimination(PASS, canary=BROKEN) == (FAIL, 0)
    assert elimination(INCONCLUSIVE, canary=BROKEN) == (FAIL, 0)
    assert elimination(PASS, libraries=("libx.so",)) == (INCONCLUSIVE, 0)
    assert elimination(FAIL, libraries=("libx.so",)) == (FAIL, 1)


def test_missing_evidence_is_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_evidence(*arguments: object) -> Verification:
        raise InconclusiveError("no map")

    monkeypatch.setattr("sizeguard.gate.elimination.verified", no_evidence)
    check, found = check_elimination(Path("/p"), APP, BUILD)
    assert (check.verdict, check.advice, found) == (INCONCLUSIVE, "no map", None)


@pytest.mark.parametrize(
    "verdicts", list(itertools.product((PASS, FAIL, INCONCLUSIVE, NOT_RUN), repeat=3))
)
def test_verdicts_combine(verdicts: tuple[str, ...]) -> None:
    expected = FAIL if FAIL in verdicts else INCONCLUSIVE if INCONCLUSIVE in verdicts else PASS
    assert overall(set(verdicts)) == expected


def app(verdict: str) -> AppResult:
    return AppResult("vision", "t", "gcc", verdict, None, None, (), (), (), (), None)


PARTS = {
    "app": lambda verdict: {"apps": (app(verdict),)},
    "selection": lambda verdict: {
        "selection": (SelectionFinding("vision", "operator", "aten::x", verdict, "x"),)
    },
    "waiver": lambda verdict: {
        "waivers": (
            WaiverUse(Waiver("load", "", "", 1, "r", "o", "2999-01-01", "s"), "used", verdict),
        )
    },
    "terms": lambda verdict: {
        "policy_changes": (PolicyChange("limit loosened", "x", "1", "2", True, verdict=verdict),)
    },
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("verdict", "code"), [(PASS, 0), (FAIL, 1), (INCONCLUSIVE, 3)])
def test_the_exit_code_is_of_the_worst_part(part: str, verdict: str, code: int) -> None:
    result = GateResult(verdict, ())
    assert replace(result, **PARTS[part](verdict)).exit_code == code


@pytest.mark.parametrize(
    ("problems", "verdict", "code"),
    [
        ((), PASS, 0),
        ((), FAIL, 1),
        ((), INCONCLUSIVE, 3),
        ((3,), INCONCLUSIVE, 3),
        ((3,), FAIL, 1),
        ((2,), FAIL, 2),
        ((2, 3), FAIL, 2),
        ((4, 2, 3), FAIL, 4),
        ((1, 2), FAIL, 1),
        ((4, 1), FAIL, 4),
    ],
)
def test_exit_codes_of_problems(problems: tuple[int, ...], verdict: str, code: int) -> None:
    made = tuple(Problem("", "", "m", "a", each) for each in problems)
    assert GateResult(verdict, (), problems=made).exit_code == code


def test_a_failing_app_matters_more_than_a_file_that_cannot_be_read() -> None:
    result = GateResult(FAIL, (app(FAIL),), problems=(Problem("", "", "m", "a", 2),))
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("error", "verdict", "code"),
    [
        (InconclusiveError("no base"), INCONCLUSIVE, 3),
        (InputError("a misspelt key"), FAIL, 2),
        (BuildError("x.cpp:1: error"), FAIL, 4),
    ],
)
def test_a_run_that_ends_with_an_error_does_not_pass(
    tmp_path: Path, error: SizeguardError, verdict: str, code: int
) -> None:
    found = not_measured(tmp_path, error)
    assert (found.verdict, found.exit_code) == (verdict, code)
    assert str(error) in found.problems[0].message
    assert (unfinished(tmp_path).verdict, unfinished(tmp_path).exit_code) == (INCONCLUSIVE, 3)


def sized(
    kind: str, actual: int, limit: int | None, base: int | None = None, waived: int = 0
) -> Check:
    room = None if limit is None else limit - actual
    verdict = INCONCLUSIVE if room is None else PASS if room >= 0 else FAIL
    return Check(
        "a/t/load", "a", "t", "load", limit, actual, room, verdict, "rule", "", kind, base=base,
        waived=waived,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("actual", "limit", "offered"),
    [
        # Room of 1 KiB or 10 % is none that a limit could be tightened by
        (1_000, 2_024, None),
        (1_000, 2_025, 1_280),
        (90_000, 100_000, None),
        (89_999, 100_000, 91_136),
        (0, 1_024, None),
        (0, 1_025, 256),
        (25_600, 100_000, 25_856),
        (51_200, 100_000, 51_712),
        (100, None, None),
    ],
)
def test_a_tighter_limit_is_offered_for_much_room(
    actual: int, limit: int | None, offered: int | None
) -> None:
    found = offers([sized(ABSOLUTE, actual, limit)])
    assert [each.offered for each in found] == ([] if offered is None else [offered])
    assert not offers([sized(ABSOLUTE, actual, limit, waived=1)])
    for each in found:
        assert actual + max(actual // 100, 256) <= each.offered < (limit or 0)
        assert each.offered % 256 == 0


@pytest.mark.parametrize(
    ("actual", "base", "limit", "offered"),
    [
        (8_976, 10_000, 10_100, None),  # 1 KiB smaller
        (8_975, 10_000, 10_100, 9_075),
        (8_000, 10_000, 12_000, None),  # as much smaller as it may grow
        (7_999, 10_000, 12_000, 9_999),
        (20_000, 10_000, 30_000, None),
        (5_000, None, 9_000, None),
        (5_000, 9_000, None, None),
    ],
)
def test_a_new_baseline_is_offered_for_a_much_smaller_size(
    actual: int, base: int | None, limit: int | None, offered: int | None
) -> None:
    found = offers([sized(GROWTH, actual, limit, base)])
    assert [each.offered for each in found] == ([] if offered is None else [offered])


STEPS = BuildSteps({"": ImageFiles("app")}, build="make", run="./test")


@pytest.mark.parametrize(
    ("run", "failed", "in_place", "is_built", "expected"),
    [
        ("./test", "", False, True, [(PASS, 0, 0, "")]),
        ("./test", "ended with 1", False, True, [(FAIL, 1, -1, "./test: ended with 1")]),
        ("", "ended with 1", False, True, []),
        ("./test", "", True, True, []),
        ("./test", "", False, False, []),
    ],
)
def test_the_command_after_a_build_has_to_end_well(
    run: str,
    failed: str,
    in_place: bool,
    is_built: bool,
    expected: list[tuple[str, int, int, str]],
) -> None:
    steps = replace(STEPS, run=run)
    app = App("a", None, (), ("t",), steps={"t": steps})
    recipe = AnyBuildRecipe("a", "t", steps) if is_built else None
    found = run_checks(app, "t", HeadBuild(BUILD, recipe, "", failed, in_place))
    assert [(each.verdict, each.actual, each.headroom, each.advice) for each in found] == expected


@pytest.mark.parametrize(
    ("absent", "present", "expected"),
    [
        ((), (), None),
        (("subject",), (), PASS),
        ((), ("main",), PASS),
        (("subject",), ("main",), PASS),
        (("main",), (), FAIL),
        (("nobody",), (), INCONCLUSIVE),
    ],
)
def test_names_of_sizeguard_yaml_are_judged(
    tmp_path: Path, absent: tuple[str, ...], present: tuple[str, ...], expected: str | None
) -> None:
    files = files_of_program(unpack("programs", tmp_path, "00") / "00")
    assert files.twin is not None
    assert files.link_map is not None
    build = replace(
        BUILD, image=files.image, shipped=files.twin, map=files.link_map, objects=files.objects,
        gc_log=tmp_path / "none", selection=None, target="t",
    )  # fmt: skip
    steps = replace(STEPS, absent=absent, present=present)
    app = App("a", None, (), ("t",), steps={"t": steps})
    checks, found = check_named_claims(tmp_path, app, build)
    assert [each.verdict for each in checks] == ([] if expected is None else [expected])
    assert (found is None) == (expected is None)
    for check in checks:
        assert check.id == "a/t/elimination"
        assert bool(check.advice) == (expected != PASS)
        named = [("--absent", absent), ("--present", present)]
        options = "".join(f" {option} {each}" for option, names in named for each in names)
        command = f"see the claims and their evidence: sizeguard verify programs/00{options}"
        assert check.advice == ("" if expected == PASS else command)


def test_a_problem_has_the_exit_code_of_its_error() -> None:
    assert Problem.of(InputError("x"), "a", "t").exit_code == 2
    assert Problem.of(InconclusiveError("x"), "a", "t").exit_code == 3
    assert not Saving("(core)", 2, 1).is_operator
    assert Saving("x::a", 2, 1).is_operator
