"""Statements of a stored result that its own numbers contradict, each at its bounds."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import (
    ABSENT,
    BROKEN,
    FAIL,
    INCONCLUSIVE,
    OK,
    PASS,
    UNKNOWN,
    Verdict,
    Verification,
)
from sizeguard.gate.causes.growth_result import SizeGrowth
from sizeguard.gate.contradictions import NOTHING, contradictions, recomputed
from sizeguard.gate.gate_result import (
    ABSOLUTE,
    CREEP,
    ELIMINATION,
    GROWTH,
    MEASURED,
    NEEDED,
    NOT_RUN,
    REVIEWED,
    AppResult,
    Base,
    Check,
    GateResult,
    ModelResult,
    Problem,
    SelectionFinding,
)
from sizeguard.gate.policy.file_growth import RULE as FILE_RULE
from sizeguard.gate.policy.terms_result import (
    EXCEEDED,
    EXPIRED,
    SPENT,
    UNUSED,
    USED,
    PolicyChange,
    Waiver,
    WaiverUse,
)

Edit = Callable[[GateResult], GateResult]
TODAY = datetime.date(2026, 6, 15)
SIZES, OLD = Sizes(1100, 50, 2612, 100), Sizes(1000, 50, 2000, 100)


def check(metric: str, kind: str, rule: str, actual: int, limit: int, **more: Any) -> Check:
    room = limit - actual
    verdict = PASS if room >= 0 else FAIL
    made = Check(
        f"a/t/{metric}/{kind}", "a", "t", metric, limit, actual, room, verdict, rule, "", kind
    )
    return replace(made, **more)


CHECKS = (
    check("load", GROWTH, "100B", 1100, 1100, base=1000),
    check("load", ABSOLUTE, "2 KiB", 1100, 2048),
    check("file", GROWTH, FILE_RULE, 2612, 2612, base=2000),
    check("operator/x::a", GROWTH, "5B", 100, 100, base=10, moved=85),
    check("section/.text", GROWTH, "0", 12, 15, base=10, waived=5),
    check("ram", CREEP, "+max(10%, 2B) since v1", 50, 52, base=48 - 1),
    check("elimination", ELIMINATION, "claims", 0, 0),
    check("needed", NEEDED, "libraries", 0, 0),
)
CHECKS = (*CHECKS[:5], replace(CHECKS[5], limit=51, headroom=1), *CHECKS[6:])
WAIVER = Waiver("section/.text", "a", "t", 5, "why", "ann", "2026-06-13", "waivers.yaml:1")
MODEL = ModelResult("m", "a", PASS, 2, (), "")
CLAIM = Verdict("operator", "aten::x", ABSENT, PASS, UNKNOWN, 0, ())
VERIFIED = Verification("a", "s", (CLAIM,), (), OK, ())
APP = AppResult(
    "a", "t", "gcc", PASS, SIZES, None, CHECKS, (MODEL,), (), (),
    VERIFIED, OLD, MEASURED,
    growth_since_base=SizeGrowth(100, 0, 612),
)  # fmt: skip
RESULT = GateResult(PASS, (APP,), waivers=(WaiverUse(WAIVER, USED, PASS, 2),))


def app(**changes: Any) -> Edit:
    return lambda result: replace(result, apps=(replace(result.apps[0], **changes),))


def edited(at: int, **changes: Any) -> Edit:
    """Change a check; a number of bytes changes the headroom with it."""

    def edit(result: GateResult) -> GateResult:
        checks = list(result.apps[0].checks)
        made = replace(checks[at], **changes)
        if made.limit is not None and "headroom" not in changes:
            made = replace(made, headroom=made.limit - made.actual)
        checks[at] = made
        return app(checks=tuple(checks))(result)

    return edit


def use(**changes: Any) -> Edit:
    return lambda result: replace(result, waivers=(replace(result.waivers[0], **changes),))


def waiver(**changes: Any) -> Edit:
    return use(waiver=replace(WAIVER, **changes))


def lines(*edits: Edit, today: datetime.date | None = TODAY) -> list[str]:
    result = RESULT
    for edit in edits:
        result = edit(result)
    return list(contradictions(result, today))


CONSISTENT: dict[str, list[Edit]] = {
    "as it is": [],
    "the last day of a waiver": [],
    "a waiver for all apps": [waiver(app="")],
    "a waiver for all targets": [waiver(target="")],
    "a limit below the file's largest": [edited(2, limit=2611, verdict=FAIL), app(verdict=FAIL)],
    "an inconclusive check": [edited(1, verdict=INCONCLUSIVE), app(verdict=INCONCLUSIVE)],
    "no limit": [
        edited(0, limit=None, headroom=None, verdict=INCONCLUSIVE), app(verdict=INCONCLUSIVE)
    ],
    "no limit, not run": [edited(0, limit=None, headroom=None, verdict=NOT_RUN)],
    "a file without a limit": [edited(2, limit=None, headroom=None, verdict=NOT_RUN)],
    "a failing check": [edited(1, limit=1024, rule="1 KiB", verdict=FAIL), app(verdict=FAIL)],
    "an unused waiver": [use(state=UNUSED, used=0)],
    "a spent waiver": [use(state=SPENT, used=0, verdict=FAIL)],
    "a model that was not run": [app(models=(replace(MODEL, verdict=NOT_RUN, cases=0),))],
    "a baseline is no merge base": [app(base=REVIEWED, growth_since_base=SizeGrowth(7, 0, 0))],
    "claims that fail": [edited(6, actual=3, verdict=FAIL), app(verdict=FAIL, verification=None)],
    "a page without gaps": [app(full=Sizes(1, 1, 1, 0))],
    "a waiver that is used up": [use(used=5)],
    "a waiver of which nothing is used": [use(used=0)],
    "growth from a commit": [lambda result: replace(result, base=Base("0123abc", "main"))],
    "a cap of an operator for other tools": [
        edited(3, kind=ABSOLUTE, rule="99 B", limit=99, moved=0, verdict=NOT_RUN, set_for="gcc 11")
    ],
    "a share of a memory region": [
        edited(4, metric="region/FLASH", kind=ABSOLUTE, rule="90%", base=None, waived=0)
    ],
    "an app without sizes": [app(sizes=None, checks=(), models=(), verdict=FAIL)],
    "a cap for other tools": [
        edited(1, limit=1050, rule="1,050 B", verdict=NOT_RUN, set_for="gcc 11"),
        app(old_sizes=replace(OLD, load=1100), growth_since_base=SizeGrowth(0, 0, 0)),
        edited(0, base=1100, limit=1200),
        edited(2, limit=2512, verdict=FAIL),
        app(verdict=FAIL),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", CONSISTENT)
def test_a_consistent_result(name: str) -> None:
    found = lines(*CONSISTENT[name])
    result = RESULT
    for edit in CONSISTENT[name]:
        result = edit(result)
    whole = f"the verdict is pass, but its parts give {recomputed(result)}"
    assert found == ([] if recomputed(result) == PASS else [whole])


WRONG: dict[str, tuple[list[Edit], str]] = {
    "verdict of the app": (
        [edited(1, limit=1099, rule="1,099 B", verdict=FAIL)],
        "a t: the verdict is pass, but its checks and models give fail",
    ),
    "verdict of the result": (
        [edited(1, limit=1099, rule="1,099 B", verdict=FAIL), app(verdict=FAIL)],
        "the verdict is pass, but its parts give fail",
    ),
    "an app that fails for nothing": (
        [app(verdict=FAIL)],
        "a t: the verdict is fail, but its checks and models give pass",
    ),
    "a failure without a limit": (
        [edited(0, limit=None, headroom=None, verdict=FAIL), app(verdict=FAIL)],
        "a t: load growth: the verdict is fail, but there is no limit",
    ),
    "a commit": (
        [lambda result: replace(result, base=Base("main", "main"))],
        "growth is counted from 'main', which is not a commit",
    ),
    "no sizes": ([app(sizes=None)], "a t: the verdict is pass, but there are no sizes"),
    "no checks": ([app(checks=())], "a t: the verdict is pass, but nothing was checked"),
    "no apps": ([lambda result: replace(result, apps=(), waivers=())], NOTHING),
    "a negative size": ([app(full=Sizes(1, 1, 1, -1))], "a t: a size is negative"),
    "a failing model": (
        [app(models=(replace(MODEL, verdict=FAIL),))],
        "a t: the verdict is pass, but its checks and models give fail",
    ),
    "a model without cases": (
        [app(models=(replace(MODEL, cases=0),))],
        "a t: model m: the verdict is pass, but it compared nothing or has gaps",
    ),
    "a model with gaps": (
        [app(models=(replace(MODEL, missing=("aten::x",)),))],
        "a t: model m: the verdict is pass, but it compared nothing or has gaps",
    ),
    "growth since the base": (
        [app(growth_since_base=SizeGrowth(99, 0, 612))],
        "a t: growth since the base is +99, but its sizes give +100",
    ),
    "a kind": ([edited(7, kind="other")], "a t: needed other: unknown kind of check"),
    "a count": (
        [edited(7, actual=1)], "a t: needed needed: the verdict is pass, but it counts 1"
    ),
    "a headroom": (
        [edited(1, headroom=947)], "a t: load absolute: the headroom is 947, but its numbers give"
    ),
    "a check that passes": (
        [edited(1, limit=1099, rule="1,099 B")],
        "a t: load absolute: the verdict is pass, but 1,100 of 1,099 is fail",
    ),
    "a check that fails": (
        [edited(1, verdict=FAIL), app(verdict=FAIL)],
        "a t: load absolute: the verdict is fail, but 1,100 of 2,048 is pass",
    ),
    "a pass without a limit": (
        [edited(1, limit=None, headroom=None)],
        "a t: load absolute: the verdict is pass, but there is no limit",
    ),
    "a headroom without a limit": (
        [edited(1, limit=None, headroom=4, verdict=NOT_RUN)],
        "a t: load absolute: the verdict is not_run, but there is no limit",
    ),
    "negative moved bytes": (
        [edited(3, moved=-1, limit=14, verdict=FAIL), app(verdict=FAIL)],
        "a t: operator/x::a growth: a number of bytes is negative",
    ),
    "negative bytes": (
        [edited(4, actual=-1)], "a t: section/.text growth: a number of bytes is negative"
    ),
    "a total": (
        [edited(1, actual=1099)],
        "a t: load absolute: it judges 1,099 bytes, but load is 1,100",
    ),
    "the base of a total": (
        [edited(0, base=1001, limit=1101)],
        "a t: load growth: it counts from 1,001 bytes, but the base has 1,000",
    ),
    "no base": (
        [app(old_sizes=None)],
        "a t: load growth: it counts from 1,000 bytes, but there is no base",
    ),
    "a file without a base": (
        [app(old_sizes=None)], "a t: file growth: there is a growth limit, but no base"
    ),
    "growth without a base": (
        [edited(4, base=None)], "a t: section/.text growth: there is a growth limit, but no base"
    ),
    "a rule": (
        [edited(1, rule="much")],
        "a t: load absolute: the rule of its limit cannot be read",
    ),
    "a growth rule": (
        [edited(4, rule="much")],
        "a t: section/.text growth: the rule of its limit cannot be read",
    ),
    "a limit above its rule": (
        [edited(1, limit=2049)], "a t: load absolute: the limit is 2,049, but its rule gives 2,048"
    ),
    "a limit below its rule": (
        [edited(1, limit=2047)], "a t: load absolute: the limit is 2,047, but its rule gives 2,048"
    ),
    "a creep limit": (
        [edited(5, limit=52)], "a t: ram creep: the limit is 52, but its rule gives 51"
    ),
    "a limit of the file": (
        [edited(2, limit=2613)],
        "a t: file growth: the limit is 2,613, but its rule gives at most 2,612",
    ),
    "moved bytes of a section": (
        [edited(4, moved=1, limit=16, actual=16)],
        "a t: section/.text growth: bytes are moved, but only growth of an operator can have",
    ),
    "moved bytes of an absolute limit": (
        [edited(3, kind=ABSOLUTE, rule="15 B")],
        "a t: operator/x::a absolute: bytes are moved, but only growth of an operator can have",
    ),
    "more moved bytes than it grew": (
        [edited(3, moved=86, limit=101)],
        "a t: operator/x::a growth: 86 bytes are moved, more than the excess over the limit",
    ),
    "more waived bytes than waivers have": (
        [waiver(bytes=4)],
        "a t: section/.text growth: 5 bytes are waived, but waivers allow only 4",
    ),
    "a waiver of another app": (
        [waiver(app="b")],
        "a t: section/.text growth: 5 bytes are waived, but waivers allow only 0",
    ),
    "a waiver of another target": (
        [waiver(target="u")],
        "a t: section/.text growth: 5 bytes are waived, but waivers allow only 0",
    ),
    "a waiver that expired": (
        [use(state=EXPIRED, verdict=FAIL, used=0)],
        "a t: section/.text growth: 5 bytes are waived, but waivers allow only 0",
    ),
    "nothing verified": (
        [app(verification=None)],
        "a t: elimination elimination: the verdict is pass, but nothing was verified",
    ),
    "claims that do not hold": (
        [edited(6, actual=1)],
        "a t: elimination elimination: the verdict is pass, but 1 claims fail",
    ),
    "a broken verifier": (
        [app(verification=replace(VERIFIED, canary=BROKEN))],
        "a t: elimination elimination: the verdict is pass, but 0 claims fail or the verifier is",
    ),
    "no claims": (
        [app(verification=replace(VERIFIED, verdicts=()))],
        "a t: elimination elimination: the verdict is pass, but no claim was judged",
    ),
    "a failing claim": (
        [app(verification=replace(VERIFIED, verdicts=(CLAIM, replace(CLAIM, verdict=FAIL))))],
        "a t: elimination elimination: the verdict is pass, but claims fail",
    ),
    "an undecided claim": (
        [app(verification=replace(VERIFIED, verdicts=(replace(CLAIM, verdict=INCONCLUSIVE),)))],
        "a t: elimination elimination: the verdict is pass, but claims fail",
    ),
    "a state": ([use(state="kept")], "waiver of section/.text: unknown state"),
    "a waiver after its last day": (
        [waiver(expires="2026-06-12")],
        "waiver of section/.text: it is used, but it expired on 2026-06-12",
    ),
    "a waiver without a day": (
        [waiver(expires="soon")], "waiver of section/.text: it is used, but it expired on soon"
    ),
    "a spent waiver": ([use(state=SPENT)], "waiver of section/.text: it is spent, but its verdict"),
    "an exceeded waiver": (
        [use(state=EXCEEDED)], "waiver of section/.text: it is exceeded, but its verdict is pass"
    ),
    "an expired waiver": (
        [use(state=EXPIRED)], "waiver of section/.text: it is expired, but its verdict is pass"
    ),
    "more used bytes than there are": (
        [use(used=6)], "waiver of section/.text: 6 of 5 bytes are used"
    ),
    "negative used bytes": ([use(used=-1)], "waiver of section/.text: -1 of 5 bytes are used"),
    "an unused waiver": (
        [use(state=UNUSED)], "waiver of section/.text: it is unused, but 2 of its bytes are used"
    ),
    "a cap of 0 for other tools": (
        [edited(1, limit=0, rule="0", verdict=NOT_RUN, set_for="gcc 11")],
        "a t: load absolute: the verdict is not_run, but 1,100 of 0 is fail",
    ),
    "a cap for other tools that the base holds": (
        [edited(1, limit=1050, rule="1,050 B", verdict=NOT_RUN, set_for="gcc 11")],
        "a t: load absolute: the verdict is not_run, but 1,100 of 1,050 is fail",
    ),
    "a cap for these tools": (
        [edited(1, limit=1050, rule="1,050 B", verdict=NOT_RUN)],
        "a t: load absolute: the verdict is not_run, but 1,100 of 1,050 is fail",
    ),
    "growth for other tools": (
        [edited(4, actual=16, verdict=NOT_RUN, set_for="gcc 11")],
        "a t: section/.text growth: the verdict is not_run, but 16 of 15 is fail",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_contradiction_is_named(name: str) -> None:
    edits, text = WRONG[name]
    assert [line for line in lines(*edits) if line.startswith(text)], lines(*edits)


def test_without_a_day_no_waiver_is_late() -> None:
    assert lines(waiver(expires="2020-01-01"), today=None) == []


@pytest.mark.parametrize("verdict", [FAIL, INCONCLUSIVE, PASS])
def test_every_part_counts(verdict: str) -> None:
    parts: list[dict[str, Any]] = [
        {"waivers": (WaiverUse(WAIVER, USED, verdict, 2),)},
        {"selection": (SelectionFinding("a", "operator", "x::a", verdict, "x"),)},
        {"policy_changes": (PolicyChange("limit", "x", "1", "2", True, verdict=verdict),)},
        {"apps": (replace(APP, models=(replace(MODEL, verdict=verdict),)),)},
        {"apps": (replace(APP, sizes=None, checks=(), models=(), verdict=verdict),)},
    ]
    for part in parts:
        assert recomputed(replace(RESULT, **part)) == verdict
    for code, expected in ((3, INCONCLUSIVE), (1, FAIL), (2, FAIL), (4, FAIL)):
        problem = Problem("", "", "m", "", code)
        assert recomputed(replace(RESULT, problems=(problem,))) == expected
