"""Builds by plain CMake: selected operators, refused options, and our functions for CMake."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from sizeguard.runtimes.known import library
from tests.support.places import SIZEGUARD
from tests.support.whole_products import choose


def configure(source: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [
        "cmake",
        "-S",
        str(source),
        "-B",
        str(folder),
        "-G",
        "Ninja",
        f"-DSIZEGUARD={SIZEGUARD}",
        *options,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """Return the message of a failed configuration on one line."""
    assert done.returncode != 0
    return " ".join(done.stderr.split())


@pytest.mark.native
def test_a_new_export_of_a_model_selects_again(
    root: Path, models_dir: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model.pt2"
    shutil.copy(models_dir / "mlp" / "model.pt2", model)
    folder = tmp_path / "build"
    assert configure(root / "native", folder, f"-DSELECT_OPS_MODEL={model}").returncode == 0
    generate = ["ninja", "-C", str(folder), "operators_code"]
    subprocess.run(generate, check=True, capture_output=True)
    effective = folder / "operators" / "code" / "selected_operators.yaml"
    chosen = yaml.safe_load(effective.read_text())["operators"]
    assert {name for name, entry in chosen.items() if entry["is_root_operator"]} == {
        "aten::linear",
        "aten::relu",
        "aten::softmax.int",
    }
    assert (
        "no work to do"
        in subprocess.run(generate, check=True, capture_output=True, text=True).stdout
    )

    shutil.copyfile(models_dir / "mlp" / "model_core.pt2", model)
    subprocess.run(generate, check=True, capture_output=True)
    chosen = yaml.safe_load(effective.read_text())["operators"]
    assert chosen["aten::addmm"]["is_root_operator"]


@pytest.mark.native
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["-DTRACING_BASE=ON"],
            r"does not know the option TRACING_BASE\. It knows .*TRACING_BASED",
        ),
        (
            ["-DEXECUTORCH_DTYPE_SELECTIVE_BUILD=ON"],
            "does not know the option EXECUTORCH_DTYPE_SELECTIVE_BUILD",
        ),
        (["-DDTYPE_SELECTIVE_BUILD=ON"], "DTYPE_SELECTIVE_BUILD has no effect without dtypes"),
        (
            ["-DDTYPE_SELECTIVE_BUILD=ON", "-DSELECT_OPS_LIST=aten::relu"],
            "DTYPE_SELECTIVE_BUILD has no effect without dtypes",
        ),
        (
            ["-DSELECT_ALL_OPS=ON", "-DSELECT_OPS_LIST=aten::relu"],
            "SELECT_ALL_OPS and SELECT_OPS_LIST exclude each other",
        ),
        (
            ["-DTRACING_BASED=ON", "-DSELECT_OPS_LIST=aten::relu"],
            "TRACING_BASED and SELECT_OPS_LIST exclude each other",
        ),
        (["-DSELECT_OPS_YAML=ON"], "SELECT_OPS_YAML is the path of a file here, not ON"),
        (["-DUSE_CUDA=ON"], "USE_CUDA=ON is not possible here: kernels are for CPUs"),
        (["-DSG_OPTIMIZE=fast"], "SG_OPTIMIZE is -Os or -O2, not fast"),
        (["-DSG_LINKER=ld"], "SG_LINKER is bfd, gold, lld or mold, not ld"),
        (["-DSG_LINK=dynamic"], "SG_LINK is executable, static, static-pie or shared, not dynamic"),
        (["-DSG_LTO=fat"], "SG_LTO is full or thin, not fat"),
        (["-DSG_LTO=thin"], "SG_LTO=thin is clang's"),
        (["-DSG_LTO=full", "-DSG_LINKER=lld"], "SG_LTO with gcc needs bfd, gold or mold"),
        (["-DSG_LINK=static-pie", "-DSG_LINKER=gold"], "gold links no static-pie"),
        (["-DSG_MACOS_HEADERS=/x"], "SG_MACOS_HEADERS has no effect on a build for Linux"),
        (["-DCMAKE_BUILD_TYPE=Release"], "CMAKE_BUILD_TYPE has no effect"),
        (["-DSELECT_OPS_LIST=aten::relux"], r"unknown operator aten::relux; nearest: aten::relu"),
        (["-DSELECTED_OP_LIST=/nowhere/x.yaml"], r"/nowhere/x\.yaml: cannot read"),
    ],
)
def test_options_without_effect_are_refused(
    root: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    assert re.search(message, refused(configure(root / "native", tmp_path, *options)))


@pytest.mark.native
def test_dtype_selection_of_a_list_without_dtypes_is_refused(root: Path, tmp_path: Path) -> None:
    selected = tmp_path / "s.yaml"
    selected.write_text("operators:\n  aten::relu: {include_all_overloads: false}\n")
    options = [f"-DSELECTED_OP_LIST={selected}", "-DDTYPE_SELECTIVE_BUILD=ON"]
    assert "has no dtypes" in refused(configure(root / "native", tmp_path / "build", *options))


PROJECT = """\
cmake_minimum_required(VERSION 3.22)
project(mine LANGUAGES C CXX)
set(SG_OPTIMIZE -Os)
add_subdirectory({native} sizeguard)
{calls}
"""


@pytest.mark.native
@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (
            "gen_selected_ops(LIB_NAME a ROOT_OP aten::relu)",
            "gen_selected_ops: unknown arguments ROOT_OP",
        ),
        ("gen_selected_ops(ROOT_OPS aten::relu)", "gen_selected_ops: LIB_NAME is missing"),
        ("gen_selected_ops(LIB_NAME a)", r"gen_selected_ops\(a\): nothing is selected"),
        (
            "gen_selected_ops(LIB_NAME a INCLUDE_ALL_OPS ON ROOT_OPS aten::relu)",
            "INCLUDE_ALL_OPS leaves nothing to select",
        ),
        (
            "gen_selected_ops(LIB_NAME a ROOT_OPS aten::relu DTYPE_SELECTIVE_BUILD ON)",
            "DTYPE_SELECTIVE_BUILD has no effect",
        ),
        (
            "generate_bindings_for_kernels(LIB_NAME a FUNCTIONS_YAML {yaml})",
            "call gen_selected_ops first",
        ),
        (
            (
                "gen_selected_ops(LIB_NAME a ROOT_OPS"
                " aten::relu)\ngenerate_bindings_for_kernels(LIB_NAME a FUNCTIONS_YAML {yaml}"
                " CUSTOM_OPS_YAML twice.yaml)"
            ),
            r"twice\.yaml:1: .*aten::relu .*operators/operators\.yaml:\d+",
        ),
        (
            (
                "gen_selected_ops(LIB_NAME a ROOT_OPS"
                " aten::relu)\ngenerate_bindings_for_kernels(LIB_NAME a FUNCTIONS_YAML"
                " {yaml})\nadd_library(k STATIC k.cpp)\nset_target_properties(k PROPERTIES"
                " LINKER_LANGUAGE CXX)\ngen_operators_lib(LIB_NAME a KERNEL_LIBS k"
                " DTYPE_SELECTIVE_BUILD ON)"
            ),
            "DTYPE_SELECTIVE_BUILD has no effect on k",
        ),
    ],
)
def test_wrong_calls_of_the_cmake_functions_are_refused(
    root: Path, tmp_path: Path, calls: str, message: str
) -> None:
    native = root / "native"
    (tmp_path / "twice.yaml").write_text(
        '- {func: "aten::relu(Tensor self) -> Tensor", kernel: my_relu, kind: core}\n'
    )
    (tmp_path / "k.cpp").write_text("")
    calls = calls.replace("{yaml}", str(native / "operators" / "operators.yaml"))
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(native=native, calls=calls))
    assert re.search(message, refused(configure(tmp_path, tmp_path / "build")))


EXAMPLE = {
    "-DSELECT_OPS_LIST=aten::relu,extra::twice": {"aten::add.Tensor", "aten::relu", "extra::twice"},
    "-DSELECT_OPS_LIST=aten::add.out,aten::mm.out": {"aten::add.Tensor", "aten::mm"},
    "-DSELECT_OPS_YAML=ON": {"aten::add.Tensor", "extra::twice"},
    "-DSELECT_OPS_YAML=extra/operators.yaml": {"aten::add.Tensor", "extra::twice"},
    "-DSELECT_ALL_OPS=ON": None,
}


@pytest.mark.native
@pytest.mark.parametrize("option", EXAMPLE)
def test_the_example_registers_what_is_selected(root: Path, option: str) -> None:
    folder = root / "build" / "tests" / "example"
    for file in ("CMakeCache.txt", "selected_ops"):  # keep the compiled objects
        path = folder / file
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    done = configure(root / "native" / "examples" / "selective_build", folder, option)
    assert done.returncode == 0, done.stderr
    subprocess.run(["ninja", "-C", str(folder)], check=True, capture_output=True)
    listed = subprocess.run(
        [folder / "example"], check=True, capture_output=True, text=True
    ).stdout.split()
    expected = EXAMPLE[option]
    if expected is None:
        expected = {"extra::twice", *library(root)}
    assert set(listed) == expected and len(listed) == len(expected)


@pytest.mark.native
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Nothing is selected: give SELECT_ALL_OPS, SELECT_OPS_LIST or SELECT_OPS_YAML"),
        (["-DSELECT_OPS_LIST=ON"], "SELECT_OPS_LIST is a list of names, not ON"),
        (
            ["-DSELECT_OPS_YAML=ON", "-DSELECT_ALL_OPS=ON"],
            "SELECT_ALL_OPS and SELECT_OPS_YAML exclude each other",
        ),
        (
            ["-DEXECUTORCH_SELECT_OPS_LIST=aten::add.out"],
            r"EXECUTORCH_SELECT_OPS_LIST \(here: SELECT_OPS_LIST\)",
        ),
    ],
)
def test_options_that_the_example_refuses(
    root: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    example = root / "native" / "examples" / "selective_build"
    assert re.search(message, refused(configure(example, tmp_path, *options)))


@pytest.mark.native
@pytest.mark.parametrize(
    "own_kernels", choose([False], [True, False]), ids={True: "own", False: "shared"}.get
)
def test_two_apps_in_one_tree_each_run_their_models(
    root: Path, program: Callable[..., Path], own_kernels: bool
) -> None:
    folder = root / "build" / "tests" / ("apps-own" if own_kernels else "apps-shared")
    done = configure(
        root / "native" / "apps",
        folder,
        f"-DDTYPE_SELECTIVE_BUILD={'ON' if own_kernels else 'OFF'}",
    )
    assert done.returncode == 0, done.stderr
    subprocess.run(["ninja", "-C", str(folder)], check=True, capture_output=True)
    models = {"vision": ("mobilenet_v2", "quant_cnn"), "language": ("encoder", "lstm_tagger")}
    for app, others in (("vision", "language"), ("language", "vision")):
        for model in models[app]:
            ran = subprocess.run(
                [folder / app, program(model)], capture_output=True, text=True, check=False
            )
            assert (ran.returncode, ran.stderr) == (0, "")
            assert model in ran.stdout
        foreign = subprocess.run(
            [folder / app, program(models[others][0])], capture_output=True, text=True, check=False
        )
        assert foreign.returncode == 1
        assert foreign.stderr.startswith("error: ")
    effective = {
        app: yaml.safe_load(
            (folder / f"{app}_ops" / "code" / "selected_operators.yaml").read_text()
        )
        for app in models
    }
    same = effective["vision"]["kernel_metadata"] == effective["language"]["kernel_metadata"]
    assert same is not own_kernels  # shared kernels have the union of the apps' dtypes
