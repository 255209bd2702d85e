"""The gate's limits, configuration, baselines and verdicts."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sizeguard.attribution.image import report_of_build
from sizeguard.build.record import Build, read_build
from sizeguard.build.toolchain import Toolchain
from sizeguard.errors import InputError
from sizeguard.gate.baselines import baseline_of, baseline_path, other_toolchains, read_baseline, write_baseline
from sizeguard.gate.config_reader import read_config
from sizeguard.gate.gate import run_gate, size_checks
from sizeguard.gate.limits import parse_limit
from sizeguard.gate.models import compare_model
from sizeguard.gate.result import Baseline
from sizeguard.gate.savings import loads, savings
from sizeguard.report.gate import gate_text


def test_a_baseline_reads_as_it_was_written(tmp_path: Path, core_build: Build) -> None:
    baseline = baseline_of(core_build, {"aten::add.Tensor": 506, "aten::alias, aten::detach": 24})
    path = baseline_path(tmp_path, core_build)
    assert write_baseline(path, baseline)
    assert not write_baseline(path, baseline)
    assert read_baseline(path) == baseline
    assert other_toolchains(tmp_path, core_build) == [baseline.toolchain]


@pytest.mark.parametrize(
    "text", ["", "[]", "app: x", "app: [", "app: a\ntarget: t\ntoolchain: c\nload: 1.5\nram: 1\nfile: 1\noperators: {}"]
)
def test_a_damaged_baseline_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(str(path))):
        read_baseline(path)


def sized(built: Build, load: int) -> Build:
    return dataclasses.replace(built, sizes=dataclasses.replace(built.sizes, load=load))


def test_growth_beyond_the_limit_fails_and_up_to_it_passes(core_build: Build) -> None:
    limits = {"load": parse_limit("max(1%, 512B)", "x")}
    base = baseline_of(sized(core_build, 20_000), {})
    verdicts = {}
    for load in (10_000, 20_000, 20_512, 20_513):
        (check,) = size_checks("core", limits, sized(core_build, load), base, [])
        verdicts[load] = (check.verdict, check.headroom, bool(check.advice))
    expected = {10_000: ("pass", 10_512, False), 20_000: ("pass", 512, False), 20_512: ("pass", 0, False), 20_513: ("fail", -1, True)}
    assert verdicts == expected


def test_another_toolchain_is_inconclusive_and_says_so(core_build: Build) -> None:
    limits = {"load": parse_limit("1%", "x")}
    (check,) = size_checks("core", limits, core_build, None, ["gcc-99.1-bfd-3.0-Os"])
    assert check.verdict == "inconclusive"
    assert "gcc-99.1-bfd-3.0-Os" in check.advice
    (check,) = size_checks("core", limits, core_build, None, [])
    assert "there is no baseline" in check.advice


def test_savings_sum_to_the_difference_of_the_loads(full_build: Build, core_build: Build) -> None:
    full, core = (report_of_build(built, ("operator",)) for built in (full_build, core_build))
    rows = savings(full, core)
    assert sum(row.saved for row in rows) == full_build.sizes.load - core_build.sizes.load
    assert {row.operator: row.full for row in rows if row.full} == loads(full)
    assert sum(loads(full).values()) == full_build.sizes.load
    assert not any(row.selective for row in rows if row.is_operator)


def test_a_model_that_lacks_operators_fails_and_names_them(program: Callable[..., Path], full_build: Build, core_build: Build) -> None:
    result = compare_model(program("mlp"), "core", full_build, core_build)
    assert result.verdict == "fail"
    assert set(result.missing) == {"aten::linear", "aten::relu", "aten::softmax.int"}
    same = compare_model(program("mlp"), "full", full_build, full_build)
    assert (same.verdict, same.missing, same.message) == ("pass", (), "")
    assert same.cases > 0


def test_the_gate_holds_for_vision(root: Path, toolchain: Toolchain) -> None:
    """The main job: full and selective builds, the real MobileNetV2 on both, the reviewed sizes."""
    result = run_gate(root, read_config(root), toolchain, ["vision"])
    content = json.loads(gate_text(result, "json"))
    models = {model["model"]: model["verdict"] for model in content["models"]}
    assert models == {"mobilenet_v2": "pass", "quant_cnn": "pass"}
    assert {check["metric"]: check["verdict"] for check in content["checks"]} == {"load": "pass", "ram": "pass", "elimination": "pass"}
    assert content["verdict"] == result.verdict == "pass"
    saved = {row["operator"]: row["saved"] for row in content["saved"]}
    assert saved["aten::convolution"] > 0  # its other dtypes
    text = gate_text(result, "terminal")
    assert text.startswith("PASS  vision loads ")
    assert re.search(r"elimination +\d{3} claims gone, \d\d there, 0 left  ✓", text)
    assert "what the selection saved, by operator" in text


def test_a_failing_gate_names_what_to_do(root: Path, toolchain: Toolchain) -> None:
    config = read_config(root)
    result = run_gate(root, config, toolchain, ["vision"])
    app = result.apps[0]
    assert app.sizes
    sized_build = read_build(root / app.folder)
    small = Baseline("vision", "x86_64-linux", "x", app.sizes.load - 600, 9999, 0, {})
    limits = {limit.metric: limit.allowance for limit in config.limits}
    checks = tuple(size_checks("vision", limits, sized_build, small, []))
    text = gate_text(dataclasses.replace(result, verdict="fail", apps=(dataclasses.replace(app, checks=checks),)), "terminal")
    assert re.match(r"FAIL  vision: \d+ bytes over the limit of `load`", text)
    assert "sizeguard baseline update --app vision" in text


def test_an_unknown_app_is_refused(root: Path, toolchain: Toolchain) -> None:
    with pytest.raises(InputError, match="no app visio; there are vision, language"):
        run_gate(root, read_config(root), toolchain, ["visio"])
