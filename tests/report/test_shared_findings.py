"""Test that a report shows a cause once, with the list of its builds."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from sizeguard.base.errors import BuildError
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE
from sizeguard.gate.gate_result import (
    ABSOLUTE,
    CHECK_KINDS,
    GROWTH,
    Check,
    GateResult,
    Problem,
)
from sizeguard.report.gate.findings.gate_findings import GateFinding, findings
from sizeguard.report.gate.gate_words import _reason, verdict_line
from sizeguard.report.gate.render import gate_text
from sizeguard.report.gate.shared.build_findings import findings_by_build
from sizeguard.report.gate.shared.shared_builds import GroupedFindings, grouped_findings
from sizeguard.report.writers.style import Style
from tests.support.results.gate_samples import (
    SAMPLES,
    app_result,
    check,
    everything,
    grown,
    passing,
    verification,
)

TARGETS = [f"board{i}-linux" for i in range(60)]
ERROR = "kernels/add.cpp:12:3: error: expected ';'"


def parts_of(result: GateResult) -> GroupedFindings:
    return grouped_findings(*findings_by_build(result, findings(result)))


def failed_builds(*texts: str) -> GateResult:
    """Return a result of two apps that do not build, with one text for each target."""
    problems = tuple(
        Problem(
            app,
            target,
            f"building {app}-{target} failed: {text}; log: /tree/build/{app}-{target}/build.log",
            f"fix it, then run sizeguard gate --app {app} --target {target}",
            4,
        )
        for app in ("vision", "language")
        for target, text in zip(TARGETS, texts, strict=False)
    )
    return replace(passing(), verdict=FAIL, problems=problems)


@pytest.mark.parametrize("format_", ["terminal", "markdown"])
def test_a_compile_error_is_shown_once_with_one_log(format_: str) -> None:
    text = gate_text(failed_builds(*[ERROR] * 3), format_, Style(full=True))
    assert text.count("add.cpp:12:3") == text.count("build.log") == 1
    for build in (f"{app} {target}" for app in ("vision", "language") for target in TARGETS[:3]):
        assert build in text
    assert text.count("fix it, then run") == 1
    assert "1 thing could not be done" in text


@pytest.mark.parametrize("format_", ["terminal", "markdown", "github", "html"])
def test_one_error_in_the_words_of_two_compilers_is_shown_once(format_: str) -> None:
    """The full build, which is of a target and of no app, fails by the same error."""
    result = failed_builds(ERROR, ERROR.replace("expected ';'", "expected a semicolon"))
    full = "building full failed: kernels/add.cpp:12:3: error: x; log: build/full/build.log"
    problems = (*result.problems, Problem("", TARGETS[0], full, "fix it", 4))
    text = gate_text(replace(result, problems=problems), format_, Style(full=True))
    assert text.partition('<details class="text">')[0].count("cpp:12:3") == 1
    if format_ == "github":
        assert text.count("::error") == 1
        assert "::error file=kernels/add.cpp," in text
        assert ",line=12::" in text


def test_a_problem_names_files_as_the_project_does(tmp_path: Path) -> None:
    error = BuildError(f"building a failed: {tmp_path}/a.c:1: error: x; log: {tmp_path}/out/log")
    problem = Problem.of(error, "a", "t").below(tmp_path)
    assert problem.message == "building a failed: a.c:1: error: x; log: out/log"


def test_other_errors_stay_apart() -> None:
    result = failed_builds(ERROR, ERROR, ERROR.replace("12", "13"))
    shared = parts_of(result).others
    assert [len(each.builds) for each in shared] == [4, 2]
    assert "2 things could not be done" in verdict_line(result)


@pytest.mark.parametrize("kind", CHECK_KINDS)
def test_the_first_line_counts_failures_of_every_kind(kind: str) -> None:
    target = TARGETS[0]
    broken = replace(check("vision", target, "needed/libm.so.6", 1, 0), kind=kind)
    app = app_result("vision", target, 40_120, 40_000, broken, verdict=FAIL)
    line = verdict_line(replace(passing(), verdict=FAIL, apps=(app,)))
    assert line.startswith("FAIL  1 ")


def test_the_first_line_of_a_failure_does_not_say_that_an_earlier_run_passed() -> None:
    skipped = replace(passing(), skipped="nothing has changed since it passed")
    assert verdict_line(skipped).endswith(f"({skipped.skipped})")
    problem = Problem("", "", "commit 4f2a91c: cannot parse", "reword it", 1)
    failed = replace(skipped, verdict=FAIL, problems=(problem,))
    assert skipped.skipped not in verdict_line(failed)


@pytest.mark.parametrize("sample", SAMPLES)
def test_each_failure_is_shown_in_one_place(sample: str) -> None:
    """Shared and own findings are a partition of the failing findings."""
    result = SAMPLES[sample]()
    builds, outside = findings_by_build(result, findings(result))
    parts = grouped_findings(builds, outside)
    shared = [*parts.others, *(limit for sizes in parts.sizes for limit in sizes.limits)]
    shown = [finding for each in shared for finding in each.found]
    shown += [*parts.outside, *(finding for build in parts.builds for finding in build.own)]
    every = [*outside, *(finding for build in builds for finding in build.found)]
    wrong = {id(each) for each in every if each.verdict in (FAIL, INCONCLUSIVE)}
    assert sorted(id(each) for each in shown if id(each) in wrong) == sorted(wrong)
    listed = {build.app.app + build.app.target for build in (*parts.builds, *parts.covered)}
    assert listed == {app.app + app.target for app in result.apps}


def grown_apps(*symbols: str) -> GateResult:
    apps = tuple(
        app_result(
            "vision",
            target,
            41_204,
            40_000,
            check("vision", target, "load", 41_204, 41_000),
            verdict=FAIL,
            causes=(replace(grown()[0], symbol=symbol),),
        )
        for target, symbol in zip(TARGETS, symbols, strict=False)
    )
    return replace(passing(), verdict=FAIL, apps=apps, selection=())


def test_a_comment_has_the_other_sizes_of_builds_with_a_shared_limit() -> None:
    result = grown_apps("conv", "conv")
    first, second = result.apps
    assert "\nfile and ram of these builds did not change\n" in gate_text(result, "markdown")
    assert first.sizes is not None
    larger = replace(first, sizes=replace(first.sizes, file=first.sizes.file + 4096))
    text = gate_text(replace(result, apps=(larger, second)), "markdown")
    rows = [line for line in text.splitlines() if f"<br>`{TARGETS[0]}` |" in line]
    assert "| 46,080<br>+4,096 (+9.8%) | 1,312<br>+0 |" in rows[-1]


def test_sizes_that_grew_for_different_reasons_stay_apart() -> None:
    shared = parts_of(grown_apps("conv", "gemm", "conv", "gemm", "pool")).sizes
    assert [[app.target for app in each.apps] for each in shared] == [
        [TARGETS[0], TARGETS[2]],
        [TARGETS[1], TARGETS[3]],
    ]
    text = gate_text(grown_apps("conv", "gemm", "conv", "gemm", "pool"), "terminal")
    assert text.count("2 builds exceed the limit of `load`") == 2
    assert text.count("FAIL  vision board4-linux grew 1,204 bytes") == 1


def test_sixty_builds_of_one_cause_fit_a_screen_or_two() -> None:
    result = grown_apps(*["conv_body<float>"] * 60)
    for format_ in ("terminal", "markdown"):
        text = gate_text(result, format_).partition("<details>")[0]
        assert text.count("conv_body<float>") == 1
        assert len(text.splitlines()) < 100
    single = gate_text(grown_apps("conv_body<float>"), "terminal")
    assert "exceed the limit" not in single


def test_sizes_of_a_shared_message_are_a_range() -> None:
    sizes = [471, 471, 1_480]
    apps = []
    for target, size in zip(TARGETS, sizes, strict=False):
        app = app_result("vision", target, 40_000, 40_000, verdict=FAIL)
        broken = verification("vision", 1)
        *others, claim = broken.verdicts
        verdicts = (*others, replace(claim, bytes=size))
        wrong = replace(app.checks[-1], verdict=FAIL, actual=1, headroom=-1)
        apps.append(replace(app, checks=(wrong,), verification=replace(broken, verdicts=verdicts)))
    result = replace(passing(), verdict=FAIL, apps=tuple(apps), selection=())
    (shared,) = parts_of(result).others
    assert "471 to 1,480 bytes" in shared.message
    text = gate_text(result, "terminal")
    assert text.count("aten::erf_0") == 1
    assert all(target in text for target in TARGETS[:3])


def test_the_order_of_builds_does_not_matter() -> None:
    """What is shared, and with which builds, is the same for any order of apps."""
    result = everything()
    for seed in range(20):
        apps = random.Random(seed).sample(result.apps, len(result.apps))
        for sample in (result, SAMPLES["shared"]()):
            shuffled = replace(sample, apps=tuple(apps) if sample is result else sample.apps[::-1])
            mine = {frozenset(each.builds) for each in parts_of(shuffled).others}
            assert mine == {frozenset(each.builds) for each in parts_of(sample).others}


@pytest.mark.parametrize(
    ("kind", "headroom", "told"),
    [
        (ABSOLUTE, 0, "`symbol/f` cannot be decided"),  # an unknown name
        (ABSOLUTE, None, "`symbol/f` cannot be decided"),  # a region that no map names
        (GROWTH, None, "`symbol/f` has no baseline"),
        (GROWTH, -3, "3 more than `symbol/f` allows"),
    ],
)
def test_the_reason_of_an_undecided_limit(kind: str, headroom: int | None, told: str) -> None:
    undecided = Check("id", "a", "t", "symbol/f", 0, 0, headroom, INCONCLUSIVE, "0", "", kind)
    found = GateFinding("r", "a", "t", "n", "i", INCONCLUSIVE, message="m", check=undecided)
    assert _reason(found) == told
