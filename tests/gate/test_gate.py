"""Test the gate's measurements, checks, causes and verdicts."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build
from sizeguard.builds.sizes import Sizes
from sizeguard.gate.causes.growth_causes import causes_between, growth_by_operator
from sizeguard.gate.causes.savings import savings
from sizeguard.gate.causes.source_lines import SourceLines
from sizeguard.gate.gate_result import Check
from sizeguard.gate.model_runs import compare_model
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, offers, size_checks
from sizeguard.gate.policy.limits import Limit
from sizeguard.gate.request import Request
from sizeguard.gate.run import run_gate
from sizeguard.measurement.measurement import Measurement
from sizeguard.projects.reader import read_config
from sizeguard.report.gate.render import gate_text
from sizeguard.runtimes.sizeguard.native_models import NativeModels
from sizeguard.toolchains.targets import host_target
from tests.support.builds.measured_builds import measured
from tests.support.verdicts.made_limits import limit

MODELS = NativeModels(None)


def test_a_measurement_is_what_the_build_is(core_build: Build) -> None:
    found = measured(core_build, "symbol/*", "symbol/sg::*")
    assert [found.value(name) for name in ("load", "ram", "file", "page_slack")] == list(
        dataclasses.astuple(core_build.sizes)
    )
    for level in ("operator", "component"):
        assert 0 < sum(found.tables[level].values()) <= core_build.sizes.load
    assert sum(found.tables["operator"].values()) == core_build.sizes.load
    # Sections that are only in memory are counted.
    assert found.value("section/.bss") == found.tables["section"][".bss"] > 0
    assert found.value("operator/aten::add.Tensor") == 0
    assert (
        0
        < (found.value("symbol/sg::*") or 0)
        < (found.value("symbol/*") or 0)
        <= core_build.sizes.load
    )
    assert found.value("symbol/other") is None  # no limit names it


def sizes_of(load: int, operators: Mapping[str, int] | None = None, ram: int = 0) -> Measurement:
    return Measurement(
        Sizes(load, ram, load, 0), {"operator": dict(operators or {}), "dtype": {}}, {}
    )


def checks_of(
    now: Measurement, base: Measurement | None, *limits: Limit, waived: int = 0, why: str = "none"
) -> tuple[Check, ...]:
    reference = SizeReference("merge base 1234567", base, "" if base else why)
    return size_checks(
        CheckedApp("a", "t", now, lambda metric: waived), limits, reference, {"v1": reference}
    )


def test_growth_beyond_the_limit_fails_and_up_to_it_passes() -> None:
    found = {}
    for load in (10_000, 20_000, 20_512, 20_513):
        (check,) = checks_of(
            sizes_of(load), sizes_of(20_000), limit("load", "growth", "max(1%, 512B)")
        )
        found[load] = (check.verdict, check.headroom, check.base)
    expected = {
        10_000: ("pass", 10_512),
        20_000: ("pass", 512),
        20_512: ("pass", 0),
        20_513: ("fail", -1),
    }
    assert found == {load: (*values, 20_000) for load, values in expected.items()}


@pytest.mark.parametrize(
    ("rule", "waived", "last_that_passes"),
    [
        ("0", 0, 20_000),
        ("700 B", 0, 20_700),
        ("700 B", 50, 20_750),
        ("1%", 0, 20_200),
        ("1%", 1, 20_201),
        ("max(1%, 512B)", 0, 20_512),
        ("max(10%, 512B)", 1000, 23_000),
    ],
)
def test_growth_from_20_000_bytes(rule: str, waived: int, last_that_passes: int) -> None:
    for beyond, verdict in ((-20_000, "pass"), (-1, "pass"), (0, "pass"), (1, "fail")):
        now = sizes_of(last_that_passes + beyond)
        (check,) = checks_of(now, sizes_of(20_000), limit("load", "growth", rule), waived=waived)
        assert (check.verdict, check.headroom) == (verdict, -beyond)
        assert (check.limit, check.base) == (last_that_passes, 20_000)


@pytest.mark.parametrize(
    ("rule", "waived", "last_that_passes"),
    [("0", 0, 0), ("0", 8, 8), ("41,000 B", 0, 41_000), ("40 KiB", 0, 40_960), ("9 B", 3, 12)],
)
def test_absolute_sizes(rule: str, waived: int, last_that_passes: int) -> None:
    for beyond, verdict in ((0, "pass"), (1, "fail"), (70_000, "fail")):
        now = sizes_of(last_that_passes + beyond)
        (check,) = checks_of(now, None, limit("load", "absolute", rule), waived=waived)
        assert (check.verdict, check.headroom) == (verdict, -beyond)


@pytest.mark.parametrize(
    ("actual", "limit_then", "waived"), [(999, 1000, 0), (1000, 1000, 0), (1001, 1008, 8)]
)
def test_a_waiver_raises_no_cap_that_holds_without_it(
    actual: int, limit_then: int, waived: int
) -> None:
    (check,) = checks_of(sizes_of(actual), None, limit("load", "absolute", "1000 B"), waived=8)
    assert (check.verdict, check.limit, check.waived) == ("pass", limit_then, waived)
    assert check.headroom == limit_then - actual


def test_growth_hidden_by_shrinkage_elsewhere_fails_its_bucket() -> None:
    then, now = (
        sizes_of(1000, {"x::a": 500, "x::b": 500}),
        sizes_of(1000, {"x::a": 900, "x::b": 100}),
    )
    checks = checks_of(
        now, then, limit("load", "growth", "0"), limit("operator/*", "growth", "64 B")
    )
    verdicts = {check.metric: (check.verdict, check.pattern) for check in checks}
    assert verdicts == {
        "load": ("pass", "load"),
        "operator/x::a": ("fail", "operator/*"),
        "operator/x::b": ("pass", "operator/*"),
    }


def test_what_is_new_grows_from_nothing_and_a_pin_to_zero_holds() -> None:
    then, now = sizes_of(10, {"x::a": 10}), sizes_of(30, {"x::b": 30})
    checks = checks_of(
        now,
        then,
        limit("operator/*", "growth", "max(10%, 8 B)"),
        limit("operator/x::a", "absolute", "0"),
    )
    assert {check.id: check.verdict for check in checks} == {
        "a/t/operator/x::a/growth": "pass",
        "a/t/operator/x::b/growth": "fail",
        "a/t/operator/x::a/absolute": "pass",
    }
    (check,) = checks_of(now, then, limit("operator/x::b", "absolute", "0"))
    assert (check.verdict, check.headroom) == ("fail", -30)


def test_the_narrowest_limit_holds() -> None:
    now, then = sizes_of(100, {"x::a": 60, "x::b": 40}), sizes_of(0)
    every = [
        limit("operator/*", "growth", "1 B"),
        limit("operator/x::a", "growth", "100 B"),
        limit("operator/*", "growth", "70 B", app="a"),
        limit("load", "growth", "1 B"),
        limit("load", "growth", "2 B", target="t"),
        limit("load", "growth", "200 B", app="a", target="t"),
        limit("load", "growth", "0", app="other"),
    ]
    for order in (every, every[::-1]):
        assert {check.metric: check.limit for check in checks_of(now, then, *order)} == {
            "load": 200,
            "operator/x::a": 100,
            "operator/x::b": 70,
        }


def test_a_family_of_regions_is_each_of_them_or_undecided() -> None:
    """The limit is in bytes, since a percentage needs the region's size, which is unknown here."""
    now = sizes_of(1_000)
    known = dataclasses.replace(now, tables={**now.tables, "region": {"FLASH": 900, "RAM": 90}})
    rule = limit("region/*", "absolute", "100 B")
    for base in (None, now, known):
        found = {each.metric: each.verdict for each in checks_of(known, base, rule)}
        assert found == {"region/FLASH": "fail", "region/RAM": "pass"}
        if base is not known:
            (check,) = checks_of(now, base, rule)
            assert (check.metric, check.verdict) == ("region/*", "inconclusive")


def test_without_a_base_growth_is_inconclusive_and_says_why_and_sizes_hold_still() -> None:
    limits = (limit("load", "growth", "1%"), limit("load", "absolute", "9 B"))
    size, growth = checks_of(sizes_of(10), None, *limits, why="no baseline: do this")
    assert (size.verdict, size.limit) == ("fail", 9)
    assert (growth.verdict, growth.limit, growth.advice) == (
        "inconclusive",
        None,
        "no baseline: do this",
    )
    (check,) = checks_of(sizes_of(10), sizes_of(9), limit("section/.text", "growth", "1%"))
    assert (check.verdict, check.advice) == (
        "inconclusive",
        "unknown name: nothing is called .text; write `unknown: ok` in its limit if it may be"
        " absent",
    )
    # Images of macOS only have names of kernels, so a missing operator proves nothing.
    (check,) = checks_of(
        sizes_of(10, {"kernel convolution": 9}),
        None,
        limit("operator/aten::convolution", "absolute", "0"),
    )
    assert check.verdict == "inconclusive"


def test_large_shrinkage_is_offered_as_a_tighter_limit() -> None:
    limits = (limit("load", "absolute", "100,000 B"), limit("load", "growth", "1%"))
    assert [
        (offer.metric, offer.text)
        for offer in offers(checks_of(sizes_of(50_000), sizes_of(60_000), *limits))
    ] == [
        ("load", "load: 50,688 B"),
        ("load", "sizeguard baseline update --app a --target t"),
    ]
    assert not offers(checks_of(sizes_of(99_000), sizes_of(99_500), *limits))
    assert not offers(checks_of(sizes_of(500_000), sizes_of(60_000), *limits))


def test_causes_sum_to_the_change_of_the_load(
    root: Path, full_build: Build, core_build: Build
) -> None:
    old, new = measured(core_build), measured(full_build)
    assert old.analysis
    assert new.analysis
    change = full_build.sizes.load - core_build.sizes.load
    causes = causes_between(old.analysis, new.analysis, SourceLines(root))
    assert sum(cause.delta for cause in causes) == change
    assert sum(row.new - row.old for row in growth_by_operator(old, new)) == change
    assert [abs(cause.delta) for cause in causes[:-1]] == sorted(
        (abs(cause.delta) for cause in causes[:-1]), reverse=True
    )
    named = next(
        cause for cause in causes if cause.operator == "aten::convolution" and cause.symbol
    )
    assert named.place.startswith("native/operators/kernels/convolution.cpp")
    back = causes_between(new.analysis, old.analysis, SourceLines(root))
    assert sum(cause.delta for cause in back) == -change
    assert causes_between(old.analysis, old.analysis, SourceLines(root)) == ()


def test_a_source_is_named_with_the_line_where_the_function_begins(root: Path) -> None:
    place = SourceLines(root).place(
        "libsg_kernels.a(convolution.cpp.o)",
        "_ZN2sg7kernels11convolutionERNS_7ContextENS_6TensorES3_",
    )
    file, _, line = place.partition(":")
    assert re.search(r"\bconvolution\(", (root / file).read_text().splitlines()[int(line) - 1])
    assert SourceLines(root).place("libsg_kernels.a(nowhere.cpp.o)", "f") == ""


def test_savings_sum_to_the_difference_of_the_loads(full_build: Build, core_build: Build) -> None:
    full, core = (measured(built).tables["operator"] for built in (full_build, core_build))
    rows = savings(full, core)
    assert sum(row.saved for row in rows) == full_build.sizes.load - core_build.sizes.load
    assert {row.operator: row.full for row in rows if row.full} == full
    assert not any(row.selective for row in rows if row.is_operator)


def test_a_model_that_lacks_operators_fails_and_names_them(
    program: Callable[..., Path], full_build: Build, core_build: Build
) -> None:
    result = compare_model(MODELS, program("mlp"), "core", full_build, core_build)
    assert result.verdict == "fail"
    assert {"aten::linear", "aten::relu", "aten::softmax.int", "aten::mm"} <= set(result.missing)
    same = compare_model(MODELS, program("mlp"), "full", full_build, full_build)
    assert (same.verdict, same.missing, same.message) == ("pass", (), "")
    assert same.cases > 0


@pytest.mark.native
def test_the_gate_holds_for_vision(root: Path) -> None:
    """Run full and selective builds with the real MobileNetV2 on both, and the reviewed sizes."""
    result = run_gate(Request(root, read_config(root), ("vision",), (host_target(),)))
    content = json.loads(gate_text(result, "json"))
    models = {model["model"]: model["verdict"] for model in content["models"]}
    assert models == {"mobilenet_v2": "pass", "quant_cnn": "pass"}
    assert {check["metric"] for check in content["checks"]} >= {"load", "ram", "elimination"}
    assert {check["verdict"] for check in content["checks"]} == {"pass"}
    assert content["verdict"] == result.verdict == "pass"
    assert result.exit_code == 0
    saved = {row["operator"]: row["saved"] for row in content["saved"]}
    assert saved["aten::convolution"] > 0  # dtypes that the app does not use


def test_an_unknown_app_or_target_is_refused(root: Path) -> None:
    with pytest.raises(InputError, match="no app 'visio'; did you mean 'vision'"):
        run_gate(Request(root, read_config(root), ("visio",)))
    with pytest.raises(InputError, match="no target 'x86'; did you mean 'x86_64-linux'"):
        run_gate(Request(root, read_config(root), ("vision",), ("x86",)))
