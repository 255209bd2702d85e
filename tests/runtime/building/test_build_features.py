"""Build features: their bytes, their selection by a trace, and their predicted sizes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from sizeguard.base.errors import InputError
from sizeguard.builds.build_record import Build
from sizeguard.builds.measured_sizes import measure
from sizeguard.cli.main import cli
from sizeguard.gate.cache.requested_claims import RequestedClaims
from sizeguard.gate.verified_builds import verify_build
from sizeguard.predict.what_if import kept_by, predictor_of
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.tracing import trace_programs
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant
from sizeguard.runtimes.sizeguard.native_sources import NativeSources
from sizeguard.selection.read import read_selection
from sizeguard.selection.write import write_selection
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.places import ROOT

FEATURES = {
    "bundled_inputs",
    "expected_outputs",
    "profiling",
    "program_verification",
    "verbose_errors",
}


@pytest.fixture(scope="module")
def damaged(program: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a program whose first offset is past the end of the file."""
    content = bytearray(program("mlp").read_bytes())
    content[0:4] = b"\xf0\xff\xff\x7f"
    path = tmp_path_factory.mktemp("damaged") / "mlp.sgp"
    path.write_bytes(content)
    return path


@pytest.fixture(scope="module")
def bare(
    selection: Callable[..., Path], toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> Build:
    """Build for the model without any build feature."""
    chosen = read_selection(selection("mlp")).selection
    path = tmp_path_factory.mktemp("bare") / "mlp.yaml"
    write_selection(path, replace(chosen, build_features=frozenset()))
    variant = checked_variant(ROOT, Variant("selective", "bare", path, optimize="s", sanitize=""))
    return build(ROOT, variant, toolchain, ROOT / "build" / "models" / "mlp-bare")


def run(image: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([image, *arguments], capture_output=True, text=True, check=False)


def test_the_sources_ask_for_five(root: Path) -> None:
    assert NativeSources(root, root).features() == FEATURES


def test_a_trace_selects_what_models_use_and_what_is_asked_for(
    program: Callable[..., Path],
    selection: Callable[..., Path],
    instrumented_build: Build,
    tmp_path: Path,
) -> None:
    usual = read_selection(selection("mlp")).selection
    assert usual.build_features == {"bundled_inputs", "program_verification"}
    path = tmp_path / "all.yaml"
    asked = ("verbose_errors", "profiling", "expected_outputs")
    trace_programs(instrumented_build, [program("mlp")], path, executed_only=False, features=asked)
    chosen = read_selection(path).selection
    assert chosen.build_features == FEATURES
    assert chosen == replace(usual, build_features=FEATURES, provenance=chosen.provenance)
    assert {each.build_features for each in chosen.provenance.values()} == {frozenset(FEATURES)}
    with pytest.raises(InputError, match="no feature profilin; there are bundled_inputs, expect"):
        trace_programs(
            instrumented_build, [program("mlp")], path, executed_only=False, features=["profilin"]
        )


def test_profiling_prints_the_calls_of_each_operator(
    full_build: Build, program: Callable[..., Path], bare: Build, tmp_path: Path
) -> None:
    given = ["--program", program("mlp"), "--output-dir", tmp_path]
    done = run(full_build.shipped, *given, "--case", "0", "--profile")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert {name: int(calls) for name, calls, _ in rows} == {
        "aten::linear": 2, "aten::relu": 1, "aten::softmax.int": 1,
    }  # fmt: skip
    assert all(int(nanoseconds) > 0 for _, _, nanoseconds in rows)
    assert run(full_build.shipped, *given, "--case", "0").stdout == ""
    done = run(bare.shipped, *given, "--profile")
    assert done.returncode == 2 and done.stderr.startswith("error: --profile; usage: ")
    assert done.stderr.count("--profile") == 1


def test_verification_refuses_what_a_trusting_build_does_not_look_at(
    full_build: Build, bare: Build, damaged: Path
) -> None:
    done = run(full_build.shipped, "--program", damaged, "--check")
    assert done.returncode == 2 and "not a program" in done.stderr
    names = bare.shipped.read_bytes()
    assert b"damaged" in names and b"a tensor does not fit" not in names


def test_clang_compiles_the_sources_of_a_bare_build(bare: Build) -> None:
    asked = [p for p in (ROOT / "native").rglob("*.cpp") if "SG_BUILD_FEATURE" in p.read_text()]
    assert len(asked) > 2
    folder = bare.image.parent
    include = [f"-I{path}" for path in (folder / "operators" / "code", ROOT, folder / "schema")]
    options = ("-std=c++20", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-fno-rtti")
    for source in asked:
        done = run(Path("clang++-19"), "-fsyntax-only", *options, *include, source)
        assert done.returncode == 0, done.stderr


def test_a_bare_build_runs_its_model(
    bare: Build, full_build: Build, program: Callable[..., Path], models_dir: Path, tmp_path: Path
) -> None:
    results = []
    for image in (bare.shipped, full_build.shipped):
        folder = tmp_path / image.parent.name
        folder.mkdir()
        array = models_dir / "mlp" / "case0_input0.npy"
        done = run(image, "--program", program("mlp"), "--input", array, "--output-dir", folder)
        assert done.returncode == 0, done.stderr
        results.append((folder / "output0.npy").read_bytes())
    assert results[0] == results[1]


def test_a_bare_build_verifies_and_another_does_not(
    bare: Build, full_build: Build, selective: Callable[..., Build]
) -> None:
    claims = RequestedClaims(full=full_build)
    verdicts = {each.verdict for each in verify_build(ROOT, bare, claims).verdicts}
    assert verdicts <= {"pass", "not_applicable"}
    found = verify_build(ROOT, selective("mlp"), replace(claims, selection=bare.asked))
    judged = [each for each in found.verdicts if each.kind == "feature"]
    wrong = {each.name for each in judged if each.verdict == "fail"}
    assert wrong == {"bundled_inputs", "program_verification"}


def test_the_prediction_of_a_bare_build_holds(
    full_build: Build, bare: Build, selective: Callable[..., Build], selection: Callable[..., Path]
) -> None:
    predictor = predictor_of(full_build.image.parent)
    chosen = read_selection(selection("mlp")).selection
    kept = kept_by(chosen, predictor, dtypes=True)
    costs = {each.feature: each for each in predictor.feature_costs(kept)}
    assert costs.keys() == FEATURES
    assert {name for name, each in costs.items() if each.is_kept} == chosen.build_features
    gone = [each.price for name, each in costs.items() if name in chosen.build_features]
    saved = measure(selective("mlp").shipped).load - measure(bare.shipped).load
    assert saved > 1000
    assert (
        sum(each.low for each in gone if each) <= saved <= sum(each.high for each in gone if each)
    )
    predicted = predictor.size(replace(kept, features=frozenset()))
    assert abs(predicted.load - bare.sizes.load) <= predicted.margin


def test_predict_shows_the_price_of_each(full_build: Build) -> None:
    command = ["predict", "--app", "vision", "--full", str(full_build.image.parent), "--format"]
    shown = json.loads(CliRunner().invoke(cli, [*command, "json"]).stdout)["per_feature"]
    assert {row["feature"]: row["is_kept"] for row in shown} == {
        name: name in {"bundled_inputs", "program_verification"} for name in FEATURES
    }
    assert all(0 < row["price"]["bytes"] <= row["price"]["high"] for row in shown)
    for format_ in ("terminal", "markdown", "csv"):
        text = CliRunner().invoke(cli, [*command, format_]).stdout
        assert "program_verification" in text
