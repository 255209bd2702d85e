"""Builds of the runtime that tests share: each variant once, under build/, up to date."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from macho_samples import MachoSamples, build_samples
from operator_table import pytest_terminal_summary  # noqa: F401  (a hook: the table at the end of a run)

from sizeguard.build.driver import build
from sizeguard.build.programs import program_of
from sizeguard.build.record import Build
from sizeguard.build.toolchain import Toolchain, find_toolchain
from sizeguard.build.trace import trace_programs
from sizeguard.build.variants import Variant, default_folder, make_variant

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The source tree."""
    return ROOT


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The sample models, a folder each."""
    return ROOT / "native" / "models"


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    return find_toolchain("gcc", None)


def built(variant: Variant, toolchain: Toolchain) -> Build:
    return build(ROOT, variant, toolchain, default_folder(ROOT, variant, toolchain))


@pytest.fixture(scope="session")
def full_build(toolchain: Toolchain) -> Build:
    return built(Variant("full"), toolchain)


@pytest.fixture(scope="session")
def instrumented_build(toolchain: Toolchain) -> Build:
    return built(Variant("instrumented"), toolchain)


@pytest.fixture(scope="session")
def core_build(toolchain: Toolchain) -> Build:
    return built(Variant("core"), toolchain)


@pytest.fixture(scope="session")
def clang_full() -> Build:
    return built(Variant("full"), find_toolchain("clang", None))


@pytest.fixture(scope="session", params=["arm64-macos", "x86_64-macos"])
def macos_full(request: pytest.FixtureRequest) -> Build:
    return built(Variant("full"), find_toolchain(None, None, request.param))


@pytest.fixture(scope="session")
def macos_vision(macos_full: Build) -> Build:
    selection = ROOT / "native" / "apps" / "vision" / "selected_operators.yaml"
    return built(Variant("selective", "vision", selection), find_toolchain(None, None, macos_full.target))


@pytest.fixture(scope="session")
def program(models_dir: Path) -> Callable[..., Path]:
    """The program of a sample model with all its cases: program("mlp"), program("mlp", "model_core")."""

    def make(model: str, form: str = "model") -> Path:
        return program_of(models_dir / model / f"{form}.pt2", ROOT / "build" / "programs")

    return make


@pytest.fixture(scope="session")
def selection(program: Callable[..., Path], instrumented_build: Build) -> Callable[..., Path]:
    """What a trace of a sample model selects."""

    def make(model: str, form: str = "model") -> Path:
        output = ROOT / "build" / "traces" / f"{model}_{form}.yaml"
        trace_programs(instrumented_build, [program(model, form)], output, executed_only=False)
        return output

    return make


@pytest.fixture(scope="session")
def selective(selection: Callable[..., Path], toolchain: Toolchain) -> Callable[..., Build]:
    """A build of what a sample model needs: selective("mlp"), selective("mlp", "model_core", dtypes=False)."""

    def make(model: str, form: str = "model", *, dtypes: bool = True) -> Build:
        yaml = selection(model, form)
        variant = make_variant(ROOT, "selective", f"{model}_{form}", yaml, dtypes=dtypes, optimize="s", sanitize="")
        return build(ROOT, variant, toolchain, ROOT / "build" / "models" / f"{variant.app}{'' if dtypes else '-operators'}")

    return make


@pytest.fixture(scope="session")
def macho(tmp_path_factory: pytest.TempPathFactory) -> MachoSamples:
    """Mach-O files of all kinds."""
    return build_samples(tmp_path_factory.mktemp("macho"))
