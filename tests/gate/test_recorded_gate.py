"""Limits, causes and savings, tested with recorded measurements and without builds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizeguard.gate.causes.growth_causes import (
    causes_between,
    causes_by_operator,
    growth_by_operator,
)
from sizeguard.gate.causes.savings import savings
from sizeguard.gate.causes.source_lines import SourceLines
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, size_checks
from sizeguard.gate.reference.moved_bytes import Moves
from sizeguard.measurement.measured_analysis import measurement_of
from tests.support.builds.recorded_builds import recorded_analysis
from tests.support.histories.measured_commits import measured
from tests.support.places import ROOT
from tests.support.verdicts.made_limits import limit


def test_a_measurement_is_what_was_recorded() -> None:
    core, mlp, more = map(measured, ("core", "mlp", "mlp_and_erf"))
    assert [each.sizes.load for each in (core, mlp, more)] == [21_650, 31_666, 32_057]
    assert [each.value("ram") for each in (core, mlp, more)] == [720, 936, 960]
    assert [each.value("operator/aten::erf") for each in (core, mlp, more)] == [0, 0, 311]
    assert [each.value("operator/aten::relu") for each in (mlp, more)] == [1_597, 356]
    assert [each.value("symbol/sg::kernels::*") for each in (core, mlp, more)] == [0, 2_856, 3_004]
    assert mlp.value("dtype/Float") == 1_139
    assert mlp.value("symbol/other") is None
    for each in (core, mlp, more):
        assert sum(each.tables["operator"].values()) == each.sizes.load


# Another operator adds 391 bytes, 311 of its own; it shares code that only aten::relu used before.
FROM_MLP = [
    ("load", "growth", "0", "fail", -391),
    ("load", "growth", "390 B", "fail", -1),
    ("load", "growth", "391 B", "pass", 0),
    ("load", "growth", "1%", "fail", -75),
    ("load", "growth", "max(1%, 512B)", "pass", 121),
    ("ram", "growth", "16 B", "fail", -8),
    ("file", "growth", "0", "pass", 0),
    ("operator/aten::erf", "growth", "300 B", "fail", -11),
    ("operator/aten::relu", "growth", "0", "pass", 1_241),
    ("operator/aten::linear", "growth", "0", "pass", 0),
    ("symbol/sg::kernels::*", "growth", "5%", "fail", -6),
    ("load", "absolute", "32,057 B", "pass", 0),
    ("load", "absolute", "31 KiB", "fail", -313),
    ("operator/aten::erf", "absolute", "0", "fail", -311),
    ("operator/aten::gelu", "absolute", "0", "pass", 0),
    ("load", "creep", "40% since v1", "fail", -1_747),
    ("load", "creep", "50% since v1", "pass", 418),
    ("operator/aten::relu", "creep", "400 B since v1", "pass", 44),
]


UNKNOWN = [
    ("symbol/sg::kernels::rellu", "absolute", "0", "inconclusive", "nearest is sg::kernels::relu"),
    ("symbol/sg::kernels::rellu", "growth", "0", "inconclusive", "nearest is sg::kernels::relu"),
    ("symbol/sg::kernels::relu(int)", "absolute", "9 MiB", "inconclusive", "nothing is called"),
    ("section/.rodat", "absolute", "0", "inconclusive", "nearest is .rodata"),
    ("symbol/nobody::*", "absolute", "0", "pass", "symbol/nobody::* matches nothing"),
    (
        "symbol/kernels::rel*",
        "absolute",
        "0",
        "inconclusive",
        "with more scopes it matches sg::kernels::relu(",
    ),
    ("symbol/nobody::*", "absolute", "1 B", "inconclusive", "matches nothing"),
    ("symbol/nobody::*", "growth", "1%", "inconclusive", "matches nothing"),
    ("symbol/sg::kernels::relu", "absolute", "9 MiB", "pass", ""),
    # Only in the base, or only in the full build
    ("symbol/sg::kernels::erf", "absolute", "0", "pass", ""),
    ("symbol/_ZN2sg7kernels3erfERNS_7ContextENS_6TensorE", "growth", "0", "pass", ""),
]


@pytest.mark.parametrize(("metric", "kind", "text", "verdict", "advice"), UNKNOWN)
@pytest.mark.parametrize("known_from", ["base", "full"])
def test_a_name_that_nothing_knows_proves_nothing(
    metric: str, kind: str, text: str, verdict: str, advice: str, known_from: str
) -> None:
    now, other = (
        measurement_of(recorded_analysis(name), [metric]) for name in ("mlp", "mlp_and_erf")
    )
    base, full = (other, None) if known_from == "base" else (now, other)
    subject = CheckedApp("mlp", "x86_64-linux", now, lambda metric: 0)
    rule = limit(metric, kind, text)
    (check,) = size_checks(subject, [rule], SizeReference("merge base", base), {}, full)
    assert check.verdict == verdict
    assert advice in check.advice
    allowed = replace(rule, unknown_ok=True)
    (check,) = size_checks(subject, [allowed], SizeReference("merge base", base), {}, full)
    assert (check.verdict, check.advice) == ("pass", "")


def test_an_unknown_operator_proves_nothing() -> None:
    subject = CheckedApp("mlp", "x86_64-linux", measured("mlp"), lambda metric: 0)
    growth = SizeReference("merge base", measured("core"))
    rule = replace(limit("operator/aten::reluu", "absolute", "0"), nearest="operator/aten::relu")
    (check,) = size_checks(subject, [rule], growth, {})
    assert check.verdict == "inconclusive"
    assert "nearest is operator/aten::relu" in check.advice
    # A name in the image is known, even if the sources do not have it
    (check,) = size_checks(subject, [replace(rule, metric="operator/aten::relu")], growth, {})
    assert check.verdict == "fail"


@pytest.mark.parametrize(("metric", "kind", "text", "verdict", "headroom"), FROM_MLP)
def test_limits_over_recorded_measurements(
    metric: str, kind: str, text: str, verdict: str, headroom: int
) -> None:
    growth = SizeReference("merge base 1234567", measured("mlp"))
    creep = {"v1": SizeReference("v1", measured("core"))}
    subject = CheckedApp("mlp", "x86_64-linux", measured("mlp_and_erf"), lambda metric: 0)
    (check,) = size_checks(subject, [limit(metric, kind, text)], growth, creep)
    assert (check.verdict, check.headroom) == (verdict, headroom)
    assert check.metric == metric
    base = {"absolute": None, "growth": measured("mlp"), "creep": measured("core")}[kind]
    assert check.base == (base.value(metric) if base else None)


def test_a_limit_of_each_operator_fails_those_that_grew() -> None:
    growth = SizeReference("merge base 1234567", measured("mlp"))
    subject = CheckedApp("mlp", "x86_64-linux", measured("mlp_and_erf"), lambda metric: 0)
    checks = size_checks(subject, [limit("operator/*", "growth", "64 B")], growth, {})
    assert {check.metric: check.verdict for check in checks if check.verdict != "pass"} == {
        "operator/(shared by operators)": "fail",
        "operator/aten::erf": "fail",
    }
    assert len(checks) == 10


def test_code_that_other_operators_share_now_is_no_growth() -> None:
    """The code that aten::erf shares with aten::relu used to belong only to aten::relu."""
    old, new = measured("mlp"), measured("mlp_and_erf")
    subject = CheckedApp("mlp", "x86_64-linux", new, lambda metric: 0, Moves(new).of)
    growth = SizeReference("merge base 1234567", old)
    checks = size_checks(subject, [limit("operator/*", "growth", "64 B")], growth, {})
    found = {check.metric: check for check in checks}
    assert {name for name, check in found.items() if check.verdict == "fail"} == {
        "operator/aten::erf"
    }
    shared = found["operator/(shared by operators)"]
    assert shared.moved == shared.actual - (shared.base or 0) - 64 == 1_177


def test_causes_and_savings_sum_to_the_change_of_the_load() -> None:
    mlp, more = recorded_analysis("mlp"), recorded_analysis("mlp_and_erf")
    causes = causes_between(mlp, more, SourceLines(ROOT))
    assert sum(cause.delta for cause in causes) == 391
    erf = [cause for cause in causes if cause.operator == "aten::erf"]
    assert {cause.cause for cause in erf} == {"added"}
    moved = [cause for cause in causes if cause.symbol == "elementwise"]
    assert [(cause.operator, cause.delta, cause.new, cause.origin) for cause in moved] == [
        ("(shared by operators)", 0, 492, "aten::relu")
    ]
    assert causes_between(mlp, mlp, SourceLines(ROOT)) == ()
    growth = growth_by_operator(measured("mlp"), measured("mlp_and_erf"))
    assert [(row.operator, row.new - row.old) for row in growth] == [
        ("(shared by operators)", 1_241),
        ("aten::erf", 311),
        ("(headers, tables, padding)", 42),
        ("(core)", 38),
        ("aten::relu", -1_241),
    ]
    by_operator = causes_by_operator(growth)
    assert [(cause.operator, cause.cause) for cause in by_operator[:3]] == [
        ("(shared by operators)", "grew"),
        ("aten::relu", "shrank"),
        ("aten::erf", "grew"),
    ]
    saved = savings(more_operators := measured("mlp_and_erf").tables["operator"], {})
    assert sum(row.saved for row in saved) == 32_057
    assert savings(more_operators, more_operators)[0].saved == 0
