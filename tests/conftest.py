"""Builds of the runtime that tests share: each variant once, under build/, up to date."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.support")

from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.programs import program_of
from sizeguard.runtimes.sizeguard.building.tracing import trace_programs
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant, default_folder
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain
from tests.support.builds.operator_table import pytest_terminal_summary  # noqa: F401  (pytest finds the hook here)
from tests.support.builds.recorded_builds import recorded_runtime
from tests.support.compiled_code import compile_all
from tests.support.drawn import EXAMPLES
from tests.support.images.macho_samples import MachoSamples, build_samples
from tests.support.unit_guard import UnitGuard
from tests.support.whole_products import choose

if TYPE_CHECKING:
    from tests.support.pages.browser import Browser

ROOT = Path(__file__).resolve().parents[1]
MACOS = ("arm64-macos", "x86_64-macos")

# Files that take minutes on one worker, the longest first. With --dist loadfile a file runs on one
# worker: started last, test_gate_history (13 minutes) ran alone for six.
_LONG = (
    "test_gate_history",
    "test_bisect_native",
    "test_cross_targets",
    "test_targets",
    "test_hidden_inputs",
    "test_model_selected_builds",
    "test_closure",
    "test_build_reads",
    "test_wheel",
)


_NATIVE = "\npytestmark = pytest.mark.native\n"


def pytest_configure(config: pytest.Config) -> None:
    """Guard unit tests, and let examples take as long as they do: machines are shared."""
    compile_all()
    config.pluginmanager.register(UnitGuard())
    # In CI the store is in the user's cache: tests have their own, wherever they run
    os.environ.pop("CI", None)
    settings.register_profile("shared machine", deadline=None, max_examples=EXAMPLES)
    settings.load_profile("shared machine")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files of native tests alone out of the unit part: their imports take a second."""
    if config.option.markexpr != "not native" or collection_path.suffix != ".py":
        return None
    return _NATIVE in collection_path.read_text() or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the files that take longest."""
    place = {name: at for at, name in enumerate(_LONG)}
    items.sort(key=lambda item: place.get(item.path.stem, len(_LONG)))


def pytest_collection_finish() -> None:
    """Keep the modules and tests out of collections of garbage.

    Reports and diffs collect when they have made their columns: 100 ms each with all that pytest
    holds, 1 ms without.
    """
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.fixture(scope="module")
def recorded_build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Unpack the recorded build with the selection mlp.yaml, once for the tests of a file."""
    return recorded_runtime(tmp_path_factory.mktemp("recorded")).build


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Start a browser for the tests of a file."""
    from tests.support.pages.browser import Browser

    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Start a Dask cluster of two processes; return its address."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="session")
def native_tools() -> None:
    """Compilers, linkers and emulators. A test is native if one of its fixtures asks for this."""


@pytest.fixture(scope="session")
def root() -> Path:
    """The source tree."""
    return ROOT


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """The sample models, a folder each."""
    return ROOT / "native" / "models"


@pytest.fixture(scope="session")
def toolchain(native_tools: None) -> Toolchain:
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
def clang_full(native_tools: None) -> Build:
    return built(Variant("full"), find_toolchain("clang", None))


@pytest.fixture(scope="session", params=choose(MACOS[:1], MACOS))
def macos_full(request: pytest.FixtureRequest, native_tools: None) -> Build:
    return built(Variant("full"), find_toolchain(None, None, request.param))


@pytest.fixture(scope="session")
def program(models_dir: Path) -> Callable[..., Path]:
    """The program of a sample model with all its cases.

    program("mlp"), program("mlp", "model_core").
    """

    def make(model: str, form: str = "model") -> Path:
        return program_of(models_dir / model / f"{form}.pt2", ROOT / "build" / "programs")

    return make


@pytest.fixture(scope="session")
def selection(program: Callable[..., Path], instrumented_build: Build) -> Callable[..., Path]:
    """The selection that a trace of a sample model gives."""

    def make(model: str, form: str = "model") -> Path:
        output = ROOT / "build" / "traces" / f"{model}_{form}.yaml"
        trace_programs(instrumented_build, [program(model, form)], output, executed_only=False)
        return output

    return make


@pytest.fixture(scope="session")
def selective(selection: Callable[..., Path], toolchain: Toolchain) -> Callable[..., Build]:
    """A build of what a sample model needs.

    selective("mlp"), selective("mlp", "model_core", dtypes=False).
    """

    def make(model: str, form: str = "model", *, dtypes: bool = True) -> Build:
        yaml = selection(model, form)
        variant = checked_variant(
            ROOT,
            Variant("selective", f"{model}_{form}", yaml, dtypes=dtypes, optimize="s", sanitize=""),
        )
        return build(
            ROOT,
            variant,
            toolchain,
            ROOT / "build" / "models" / f"{variant.app}{'' if dtypes else '-operators'}",
        )

    return make


@pytest.fixture(scope="session")
def macho(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> MachoSamples:
    """Mach-O files of all kinds."""
    return build_samples(tmp_path_factory.mktemp("macho"))
