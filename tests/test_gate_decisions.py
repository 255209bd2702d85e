"""Test the gate's decisions on given verdicts: unknown or broken input never passes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import BuildError, InconclusiveError, InputError, SizeguardError
from sizeguard.builds.build_record import Build
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import BROKEN, OK, Verdict, Verification
from sizeguard.gate.elimination import check_elimination, judged_elimination
from sizeguard.gate.gate_result import (
    FAIL,
    INCONCLUSIVE,
    NOT_RUN,
    PASS,
    AppResult,
    GateResult,
    PolicyChange,
    Problem,
    SelectionFinding,
    Waiver,
    WaiverUse,
    overall,
)
from sizeguard.gate.reference.not_measured import not_measured, unfinished
from sizeguard.projects.project import App

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
