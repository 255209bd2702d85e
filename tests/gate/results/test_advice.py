"""Advice on failed limits, and the headline over them."""

from __future__ import annotations

import datetime
from dataclasses import replace

from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL
from sizeguard.gate.advice import advised
from sizeguard.gate.causes.growth_result import Cause
from sizeguard.gate.gate_result import AppResult, Check
from sizeguard.report.gate.findings.gate_findings import GateFinding
from sizeguard.report.gate.gate_words import headline

TODAY = datetime.date(2026, 11, 21)


def result_of(
    *checks: Check, base: str = "merge base", causes: tuple[Cause, ...] = ()
) -> AppResult:
    sizes = Sizes(32_057, 960, 35_008, 32)
    return AppResult(
        "mlp", "x86_64-linux", "gcc-12.2-bfd-2.40-Os", "fail", sizes, None, checks, (), (), (),
        None, base=base, causes=causes, folder="build/mlp",
    )  # fmt: skip


def failing(metric: str, kind: str, beyond: int) -> Check:
    return Check(
        f"mlp/x86_64-linux/{metric}/{kind}", "mlp", "x86_64-linux", metric, 1000, 1000 + beyond,
        -beyond, "fail", "0", "", kind, place="sizeguard.yaml:9:3",
    )  # fmt: skip


WAIVE = (
    "sizeguard waive {} --app mlp --target x86_64-linux --bytes {} --owner YOU --reason '…'"
    " --expires 2027-02-19"
)


def test_advice_on_growth_names_its_cause_and_what_to_do() -> None:
    grown = Cause("aten::erf", "Float", "erf_body<float>", 0, 311, "symbol", "added")
    shown = advised(
        result_of(failing("load", "growth", 391), causes=(grown,)),
        "1234567", "store/base.snapshot", "run_program", TODAY,
    )  # fmt: skip
    assert [(each.label, each.text) for each in shown.commands] == [
        ("reproduce", "sizeguard gate --app mlp --target x86_64-linux --base 1234567"),
        ("see why", "sizeguard why build/mlp/run_program 'erf_body<float>'"),
        ("compare", "sizeguard diff store/base.snapshot build/mlp"),
        ("accept it", WAIVE.format("load", 391)),
        ("make it normal", "sizeguard baseline update --app mlp --target x86_64-linux"),
    ]
    assert shown.checks[0].advice == f"shrink it, or accept it: {WAIVE.format('load', 391)}"


def test_no_advice_to_follow_a_link_that_why_cannot_follow() -> None:
    grown = Cause("(core)", "", "erf", 0, 311, "symbol", "added")
    result = result_of(failing("load", "growth", 391), causes=(grown,))
    shown = advised(result, "1234567", "", None, TODAY)
    assert "sizeguard report build/mlp --by section,symbol" in [
        each.text for each in shown.commands
    ]
    assert not any("sizeguard why" in each.text for each in shown.commands)


def test_advice_without_a_cause_or_a_snapshot() -> None:
    shown = advised(
        result_of(failing("ram", "absolute", 5), base="baseline"), "1234567", "", "x", TODAY
    )
    assert [each.text for each in shown.commands] == [
        "sizeguard gate --app mlp --target x86_64-linux --base 1234567",
        "sizeguard report build/mlp --by operator,symbol",
        WAIVE.format("ram", 5),
        "raise the maximum at sizeguard.yaml:9:3",
    ]
    creep = advised(result_of(failing("load", "creep", 5)), "", "", "x", TODAY)
    assert creep.commands[0].text == "sizeguard gate --app mlp --target x86_64-linux"
    assert creep.commands[3].text == "count from a later release at sizeguard.yaml:9:3"


def test_limits_of_one_metric_share_a_waiver_that_covers_the_largest_excess() -> None:
    checks = [failing("load", "growth", 391), failing("load", "absolute", 1204)]
    shown = advised(result_of(*checks), "", "", "x", TODAY)
    accepted = [each.text for each in shown.commands if each.label == "accept it"]
    assert accepted == [WAIVE.format("load", 1204)]
    assert all(c.advice.endswith(WAIVE.format("load", 1204)) for c in shown.checks)


def _headline(*checks: Check) -> str:
    found = [
        GateFinding("r", "mlp", "t", "n", check.id, FAIL, message="m", check=check)
        for check in checks
    ]
    return headline(result_of(*checks), found, "mlp")


def test_the_headline_says_a_metrics_largest_excess_once() -> None:
    grown, capped = failing("load", "growth", 391), failing("load", "absolute", 1204)
    said = "mlp loads 32,057 bytes: 1,204 more than `load` allows"
    assert _headline(grown, capped) == _headline(capped, grown) == said
    assert _headline(capped, replace(capped, id="other")) == said  # as large
    assert _headline(grown, failing("file", "growth", 5), failing("load", "creep", 9)) == (
        "mlp loads 32,057 bytes: 391 more than `load` allows; 5 more than `file` allows, and"
        " 1 more finding"
    )


def test_advice_offers_the_three_worst_and_nothing_where_all_passes() -> None:
    checks = [failing(f"operator/x::{i}", "growth", i) for i in (3, 9, 1, 7)]
    shown = advised(result_of(*checks), "", "", "x", TODAY)
    accepted = [each.text for each in shown.commands if each.label == "accept it"]
    assert accepted == [WAIVE.format(f"operator/x::{i}", i) for i in (9, 7, 3)]
    passing = result_of(replace(checks[0], verdict="pass"))
    assert advised(passing, "", "", "x", TODAY) == passing
    elimination = result_of(replace(checks[0], kind="elimination"))
    assert advised(elimination, "", "", "x", TODAY) == elimination
