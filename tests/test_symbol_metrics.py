"""Metrics and filters of symbols mean the same symbols, however they are spelled."""

from __future__ import annotations

import pytest

from sizeguard.attribution.filters import matching_rows, parse_filters
from sizeguard.measurement.metric import Metric, metric_value
from tests.support.recorded_builds import recorded_analysis

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
    """Demanglers print `void` before templates; a pattern for their scope means them, too."""
    analysis = recorded_analysis("mlp")
    whole = metric_value(analysis, Metric("symbol", f"void {SOFTMAX}*"))
    assert metric_value(analysis, Metric("symbol", f"{SOFTMAX}*")) == whole > 0
    assert metric_value(analysis, Metric("symbol", "sg::kernels::softmax_lines")) == whole


@pytest.mark.parametrize("text", ["sg::kernels::relux", "sg::kernels::relu(int)", "nobody::*"])
def test_an_unknown_name_has_no_bytes(text: str) -> None:
    assert metric_value(recorded_analysis("mlp"), Metric("symbol", text)) == 0
