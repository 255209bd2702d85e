"""Paths of metrics, and their bytes in recorded builds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sizeguard.attribution.analysis import Analysis
from sizeguard.attribution.filters import matching_rows, parse_filters
from sizeguard.attribution.open_analysis import analysis_of
from sizeguard.base.errors import InputError
from sizeguard.measurement import metric as module
from sizeguard.measurement.metric import (
    PARTITIONS,
    Metric,
    beside_rows,
    bucket_vector,
    has_name,
    has_rows,
    known_metrics,
    metric_value,
    nearest_metric,
    parse_metric,
)
from sizeguard.measurement.metric_kinds import NAMED, TOTALS
from tests.support.builds.recorded_builds import recorded_analysis
from tests.support.places import ROOT

REGIONS = ROOT / "tests" / "data" / "regions"


@pytest.fixture(scope="module")
def mlp() -> Analysis:
    return recorded_analysis("mlp")


@pytest.fixture(scope="module")
def firmware() -> Analysis:
    return analysis_of(REGIONS / "cortex-m3.elf", map_=REGIONS / "cortex-m3.map")


@pytest.mark.parametrize(
    "metric", [*map(Metric, TOTALS), *(Metric(kind, "a/b") for kind in NAMED)], ids=str
)
def test_a_path_reads_as_it_is_shown(metric: Metric) -> None:
    assert parse_metric(str(metric), "--metric") == metric
    assert str(metric) == (f"{metric.kind}/a/b" if metric.name else metric.kind)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("symbol", "metric 'symbol' lacks a name; nearest is 'symbol/NAME'"),
        ("symbol/", "metric 'symbol/' lacks a name; nearest is 'symbol/NAME'"),
        ("load/x", "metric 'load' takes no name; nearest is 'load'"),
        ("load/", "metric 'load' takes no name; nearest is 'load'"),
        ("laod", "unknown metric 'laod'; nearest is 'load'"),
        ("laod/x", "unknown metric 'laod/x'; nearest is 'load'"),
        ("symbl/f", "unknown metric 'symbl/f'; nearest is 'symbol/f'"),
        ("symbl", "unknown metric 'symbl'; nearest is 'symbol/NAME'"),
        ("zzz", "unknown metric 'zzz'; there are load, ram, file, page_slack, component/NAME, "),
    ],
)
def test_a_malformed_path_is_refused_with_the_nearest_one(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_metric(text, "a.yaml:3")
    assert str(error.value).startswith(f"a.yaml:3: {message}")


def test_the_nearest_name_is_one_of_the_same_kind() -> None:
    known = ["operator/aten::relu", "symbol/aten::rel", "operator/aten::mul"]
    assert nearest_metric(Metric("operator", "aten::rel"), known) == "operator/aten::relu"
    assert nearest_metric(Metric("operator", "qqqqqqqqqqqqqq"), known) == ""
    assert nearest_metric(Metric("kernel", "relu"), known) == ""


def test_known_names_are_those_of_the_image_besides_symbols(
    mlp: Analysis, firmware: Analysis
) -> None:
    for analysis in (mlp, firmware):
        known = known_metrics(analysis)
        assert known == sorted(known)
        assert {each for each in known if "/" not in each} == {*TOTALS}
        assert not any(each.startswith("symbol/") or each.endswith("/") for each in known)
        assert all(has_name(analysis, parse_metric(each, "")) for each in known)
        named = [each for each in known if each.startswith(("section/", "component/"))]
        assert len(named) > 3
        assert not any(has_name(analysis, parse_metric(f"{each}x", "")) for each in named)
    regions = [each for each in known_metrics(firmware) if each.startswith("region/")]
    assert regions == ["region/FLASH", "region/RAM"]
    assert not [each for each in known_metrics(mlp) if each.startswith("region/")]


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        ("sg::kernels::relu", True),
        ("sg::kernels::rel?(*)", True),
        ("sg::kernels::relux", False),
        ("sg::kernels::relux*", True),  # it may match nothing
        ("sg::(anonymous namespace)::softmax_lines*", False),  # a scope is missing
    ],
)
def test_names_of_symbols_are_known_unless_code_may_have_lost_its_name(
    mlp: Analysis, monkeypatch: pytest.MonkeyPatch, text: str, is_known: bool
) -> None:
    metric = Metric("symbol", text)
    for nameless in ("", "stripped"):
        monkeypatch.setattr(module, "nameless_code", lambda _, nameless=nameless: nameless)
        assert has_name(mlp, metric) == (is_known and not (nameless and "x*" in text))


def test_each_metric_is_the_sum_of_its_rows(mlp: Analysis) -> None:
    for kind in ("load", "ram", "file"):
        assert metric_value(mlp, Metric(kind)) == getattr(mlp, kind).sum() > 0
        assert Metric(kind).column(mlp) == kind
    assert Metric("page_slack").column(mlp) == "file"
    assert metric_value(mlp, Metric("page_slack")) == 416
    known = [each for each in known_metrics(mlp) if "/" in each]
    for text in (*known, "page_slack", *TOTALS):
        metric = parse_metric(text, "")
        column = metric.column(mlp)
        assert (column == "ram") == (metric.kind == "ram" or text in ("section/.bss"))
        rows = matching_rows(mlp, parse_filters(metric.filters))
        values = getattr(mlp, column)
        assert metric_value(mlp, metric) == (values if rows is None else values[rows]).sum()


def test_a_section_of_zeros_in_any_image_counts_as_memory(mlp: Analysis) -> None:
    def changed(load: int, ram: int) -> Any:
        return SimpleNamespace(load=mlp.load * load, ram=mlp.ram * ram, label=mlp.label)

    bss, text = Metric("section", ".bss"), Metric("section", ".text")
    loaded: Any = SimpleNamespace(load=mlp.load + 1, ram=mlp.ram, label=mlp.label)
    assert [bss.column(mlp), bss.column(loaded), bss.column(loaded, mlp)] == ["ram", "load", "ram"]
    assert bss.column(changed(0, 0)) == text.column(changed(0, 1)) == "load"
    assert Metric("component", "kernels").column(changed(0, 1)) == "load"


def test_a_region_has_the_bytes_that_are_stored_elsewhere(firmware: Analysis) -> None:
    flash, ram = Metric("region", "FLASH"), Metric("region", "RAM")
    assert [metric_value(firmware, each) for each in (flash, ram)] == [497, 1161]
    assert metric_value(firmware, Metric("region", "ROM")) == 0
    assert beside_rows(firmware, flash, "load") == 0
    assert beside_rows(firmware, ram, "load") == 1161
    assert has_rows(firmware, flash) and not has_rows(firmware, Metric("region", "ROM"))


def test_buckets_have_all_bytes_once_for_each_partition(mlp: Analysis, firmware: Analysis) -> None:
    for analysis in (mlp, firmware):
        vector = bucket_vector(analysis)
        assert all(vector.values())
        totals = {("load",): analysis.image.load, ("ram",): analysis.image.ram}
        assert totals.items() <= vector.items()
        assert vector["file",] == analysis.image.file
        for levels in PARTITIONS:
            parts = {key: size for key, size in vector.items() if key[:-1:2] == levels}
            assert sum(parts.values()) == analysis.image.load
            assert {len(key) for key in parts} == {2 * len(levels)}
        memory = {key[1]: size for key, size in vector.items() if key[0] == "ram" and key[1:]}
        assert sum(memory.values()) == analysis.image.ram
        assert ".bss" in memory
