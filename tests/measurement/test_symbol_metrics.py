"""Metrics and filters select the same symbols for every spelling of a name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sizeguard.attribution.filters import matching_rows, parse_filters
from sizeguard.builds.sizes import Sizes
from sizeguard.claims.verdict import FAIL, INCONCLUSIVE, PASS
from sizeguard.gate.gate_result import ABSOLUTE, GROWTH, Check
from sizeguard.gate.policy.checks import CheckedApp, SizeReference, size_checks
from sizeguard.gate.policy.limits import GrowthLimit, Limit
from sizeguard.measurement.measured_analysis import measurement_of
from sizeguard.measurement.measurement import Measurement
from sizeguard.measurement.metric import Metric, metric_value
from tests.support.builds.recorded_builds import recorded_analysis

RELU = "_ZN2sg7kernels4reluERNS_7ContextENS_6TensorE"
SOFTMAX = "sg::kernels::(anonymous namespace)::softmax_lines"


@pytest.mark.parametrize(
    "text",
    [
        RELU,
        "sg::kernels::relu(sg::Context&, sg::Tensor)",
        "sg::kernels::relu(sg::Context&,sg::Tensor)",
        "sg::kernels::relu",
        "kernels::relu",
        "sg::kernels::rel?(*)",
    ],
)
def test_every_spelling_measures_the_same(text: str) -> None:
    analysis = recorded_analysis("mlp")
    metric = Metric("symbol", text)
    assert metric_value(analysis, metric) == metric_value(analysis, Metric("symbol", RELU)) > 0
    rows = matching_rows(analysis, parse_filters(metric.filters))
    assert rows is not None
    assert analysis.load[rows].sum() == metric_value(analysis, metric)


def test_a_result_is_no_hiding_place() -> None:
    """Demanglers print `void` before templates; a pattern for the scope matches them, too."""
    analysis = recorded_analysis("mlp")
    whole = metric_value(analysis, Metric("symbol", f"void {SOFTMAX}*"))
    assert metric_value(analysis, Metric("symbol", f"{SOFTMAX}*")) == whole > 0
    assert metric_value(analysis, Metric("symbol", "sg::kernels::softmax_lines")) == whole


@pytest.mark.parametrize("text", ["sg::kernels::relux", "sg::kernels::relu(int)", "nobody::*"])
def test_an_unknown_name_has_no_bytes(text: str) -> None:
    assert metric_value(recorded_analysis("mlp"), Metric("symbol", text)) == 0


GLOB = "symbol/sg::kernels::relu*"


def glob_check(base: Measurement | None, now: Measurement) -> Check:
    limit = Limit(GLOB, GROWTH, GrowthLimit("64", 0, 64))
    subject = CheckedApp("mlp", "x86_64-linux", now, lambda _: 0)
    (found,) = size_checks(subject, [limit], SizeReference("merge base", base), {})
    return found


def test_a_glob_that_is_new_in_a_change_grows_from_what_the_base_has() -> None:
    now = measurement_of(recorded_analysis("mlp"), [GLOB])
    size = now.value(GLOB)
    assert size
    # The base was measured and has no such symbol, so all of it is growth.
    none = glob_check(measurement_of(recorded_analysis("core"), [GLOB]), now)
    assert (none.base, none.limit, none.verdict) == (0, 64, FAIL)
    same = glob_check(measurement_of(recorded_analysis("mlp"), [GLOB]), now)
    assert (same.base, same.limit, same.verdict) == (size, size + 64, PASS)
    # With a baseline older than the glob, or without a base, the check is inconclusive.
    unsaid = glob_check(replace(now, analysis=None, symbols={}), now)
    assert (unsaid.base, unsaid.limit, unsaid.verdict) == (None, None, INCONCLUSIVE)
    assert "has no" in unsaid.advice
    assert glob_check(None, now).verdict == INCONCLUSIVE


@pytest.mark.parametrize(
    ("name", "most", "actual", "verdict"),
    [
        ("sg::(anonymous namespace)::first_class", 0, 8, FAIL),
        ("sg::(anonymous namespace)::first_*", 0, 16, FAIL),
        ("sg::(anonymous namespace)::first_*", 16, 16, PASS),
        ("sg::(anonymous namespace)::first_clash", 0, 0, INCONCLUSIVE),
        ("sg::nobody_*", 0, 0, PASS),
    ],
)
def test_of_zeros_the_memory_counts(name: str, most: int, actual: int, verdict: str) -> None:
    """A variable in .bss has no loaded bytes, but it is in the image."""
    metric = f"symbol/{name}"
    now = measurement_of(recorded_analysis("mlp"), [metric])
    assert now.value(metric) == 0
    limit = Limit(metric, ABSOLUTE, GrowthLimit(f"{most} B", 0, most))
    subject = CheckedApp("mlp", "x86_64-linux", now, lambda _: 0)
    (found,) = size_checks(subject, [limit], SizeReference("merge base", None), {})
    assert (found.actual, found.verdict) == (actual, verdict)


def test_of_an_object_of_zeros_the_memory_counts() -> None:
    sizes = Sizes(0, 64, 0, 0)
    now = Measurement(sizes, {"object": {"code.o": 8}}, {}, zeros={"object/zeros.o": 64})
    subject = CheckedApp("app", "linux", now, lambda _: 0)
    for metric in ("object/zeros.o", "object/z*"):
        limit = Limit(metric, ABSOLUTE, GrowthLimit("0", 0, 0))
        (found,) = size_checks(subject, [limit], SizeReference("merge base", None), {})
        assert (found.metric, found.actual, found.verdict) == ("object/zeros.o", 64, FAIL)
