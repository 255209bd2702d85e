"""Texts of metrics, and their values in an analysis."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.base.errors import InputError
from sizeguard.builds.measured_sizes import measure
from sizeguard.measurement.metric import (
    NAMED,
    PARTITIONS,
    TOTALS,
    Metric,
    bucket_vector,
    known_metrics,
    metric_value,
    nearest_metric,
    parse_metric,
)
from tests.support.builds.small_program import small_program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> Path:
    return small_program(tmp_path_factory.mktemp("program"))


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("opertor/aten::add", "operator/aten::add"),
        ("lod", "load"),
        ("load/x", "load"),
        ("operator/", "operator/NAME"),
        ("page-slack", "page_slack"),
        ("Section/.text", "section/.text"),
    ],
)
def test_wrong_metrics_name_the_nearest(text: str, nearest: str) -> None:
    with pytest.raises(InputError, match=r"^policy:3: ") as raised:
        parse_metric(text, "policy:3")
    assert str(raised.value).endswith(f"'{nearest}'")


def test_overloads_are_suggested_and_never_guessed() -> None:
    known = ["operator/aten::add.Tensor", "operator/aten::addmm", "dtype/Float"]
    assert (
        nearest_metric(parse_metric("operator/aten::add.Tenso", "x"), known)
        == "operator/aten::add.Tensor"
    )
    assert nearest_metric(parse_metric("dtype/zzzzzz", "x"), known) == ""
    assert [str(parse_metric(text, "x")) for text in ("ram", "symbol/*a/b*", "section/.text")] == [
        "ram",
        "symbol/*a/b*",
        "section/.text",
    ]


@given(st.text(max_size=30))
def test_any_text_is_a_metric_or_one_line(text: str) -> None:
    try:
        metric = parse_metric(text, "--metric")
    except InputError as error:
        assert "\n" not in str(error)
        return
    assert str(metric) == text
    assert metric.kind in (*TOTALS, *NAMED)


def test_metrics_agree_with_size_and_nm(program: Path) -> None:
    analysis = analysis_of(program)
    sections = {}
    for line in subprocess.run(
        ["readelf", "-SW", str(program)], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 7 and words[0].startswith("[") and words[1].startswith("."):
            sections[words[1]] = int(words[5], 16), words[7]
    sizes = measure(program)
    assert [metric_value(analysis, Metric(name)) for name in TOTALS] == [
        sizes.load,
        sizes.ram,
        sizes.file,
        sizes.page_slack,
    ]
    for name, (size, flags) in sections.items():
        assert metric_value(analysis, Metric("section", name)) == (
            size if "A" in flags and name != ".tbss" else 0
        ), name
    assert metric_value(analysis, Metric("section", ".nothing")) == 0
    symbols = [
        line.split()
        for line in subprocess.run(
            ["nm", "-S", str(program)], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    ]
    code = sum(int(words[1], 16) for words in symbols if len(words) == 4 and "twice" in words[3])
    by_name = metric_value(analysis, Metric("symbol", "*twice<*"))
    assert by_name >= code > 0  # it includes unwind entries
    assert by_name == metric_value(analysis, Metric("symbol", "_Z5twiceI?ET_S0_"))


def test_filters_of_a_metric_leave_its_rows(program: Path) -> None:
    from sizeguard.attribution.group import group

    analysis = analysis_of(program)
    for metric in [
        *map(Metric, TOTALS),
        Metric("section", ".text"),
        Metric("section", ".bss"),
        Metric("symbol", "*twice<*"),
        Metric("component", "twice"),
    ]:
        report = group(analysis, ("symbol",), metric.filters)
        column = getattr(report, metric.column(analysis))
        assert int(column.sum()) == metric_value(analysis, metric), metric


def test_buckets_of_each_partition_sum_to_the_load(program: Path) -> None:
    vector = bucket_vector(analysis_of(program))
    for levels in PARTITIONS:
        assert (
            sum(
                size
                for key, size in vector.items()
                if key[0] == levels[0] and len(key) == 2 * len(levels)
            )
            == vector["load",]
        )
    assert (
        sum(size for key, size in vector.items() if key[0] == "ram" and len(key) == 2)
        == vector["ram",]
    )
    assert "section/.text" in known_metrics(analysis_of(program))
