"""Command lines that PyTorch and ExecuTorch published, run unchanged in a project of ours."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from sizeguard.operators.dtypes import CODE_OF_NAME
from sizeguard.runtimes.sizeguard.importing.builder import ProgramBuilder
from sizeguard.runtimes.sizeguard.program.program import Dim, Program, ProgramInput, Tag
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from sizeguard.selection.read import read_selection
from tests.support.commands.article_selection import ARTICLE
from tests.support.places import ROOT

pytestmark = pytest.mark.native

INSTRUMENTED = "USE_NUMPY=0 USE_DISTRIBUTED=0 USE_CUDA=0 TRACING_BASED=1 ./scripts/build_mobile.sh"
SELECTIVE = (
    "BUILD_PYTORCH_MOBILE_WITH_HOST_TOOLCHAIN=1 USE_LIGHTWEIGHT_DISPATCH=0"
    " BUILD_LITE_INTERPRETER=1 SELECTED_OP_LIST={list} TRACING_BASED=1 ./scripts/build_mobile.sh"
)
CODE = Path("operators", "code", "selected_operators.yaml")


def run(line: str, folder: Path, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env={**os.environ, "PATH": path, **more},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a user's project: the scripts, and the runtime's sources next to them."""
    folder = tmp_path_factory.mktemp("a project")
    shutil.copytree(ROOT / "docs" / "examples" / "scripts", folder / "scripts")
    ignored = shutil.ignore_patterns("models")
    shutil.copytree(ROOT / "native", folder / "native", ignore=ignored)
    for model in ("mlp", "tanh_rnn"):
        shutil.copytree(ROOT / "native" / "models" / model, folder / "my models" / model)
    (folder / "selected_ops.yaml").write_text(ARTICLE)
    return folder


@pytest.fixture(scope="module")
def tracer(folder: Path) -> Path:
    run(INSTRUMENTED, folder)
    return folder / "build" / "bin" / "model_tracer"


@pytest.fixture(scope="module")
def article_build(folder: Path) -> Path:
    run(SELECTIVE.format(list=shlex.quote(f"{folder}/selected_ops.yaml")), folder)
    return folder / "build_mobile"


def traced(folder: Path, name: str) -> dict[str, set[str]]:
    chosen = read_selection(folder / name).selection
    return {tag: set(dtypes) for tag, dtypes in chosen.kernel_metadata.items()}


def test_the_tracer_reads_models_of_both_kinds(tracer: Path, folder: Path) -> None:
    model = "my models/mlp/model.pt2"
    run(f"./build/bin/model_tracer --model_input_path '{model}' --build_yaml_path a.yaml", folder)
    run(f"sizeguard import '{model}' --cases-beside -o mlp.sgp", folder)
    run("./build/bin/model_tracer --model_input_path mlp.sgp --build_yaml_path b.yaml", folder)
    assert traced(folder, "a.yaml") == traced(folder, "b.yaml") != {}
    second = f"{folder}/my models/tanh_rnn/model.pt2"
    both = f"./build/bin/model_tracer --model_input_path='mlp.sgp, {second},'"
    run(f"{both} --build_yaml_path=both.yaml", folder)
    chosen = read_selection(folder / "both.yaml").selection
    assert {"aten::linear", "aten::tanh"} <= set(chosen.operators)
    asked = {name: entry.debug_info for name, entry in chosen.operators.items()}
    assert asked["aten::tanh"] == {second}


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("a.ptl", "a.ptl: TorchScript is not traced: export it as .pt2"),
        ("mlp.sgp,b.PT", "b.PT: TorchScript is not traced: export it as .pt2"),
        ("nowhere.pt2", "nowhere.pt2: cannot read"),
        ("alone.pt2", "alone.pt2: has no inputs to run: put case0_input0.npy beside the model"),
        ("notes.pt2", "notes.pt2"),
        (" , ", "--model_input_path names no model"),
    ],
)
def test_the_tracer_refuses(models: str, message: str, tracer: Path, folder: Path) -> None:
    (folder / "notes.pt2").write_text("no model")
    shutil.copy(folder / "my models" / "mlp" / "model.pt2", folder / "alone.pt2")
    run("sizeguard import 'my models/mlp/model.pt2' --cases-beside -o mlp.sgp", folder)
    line = f"./build/bin/model_tracer --model_input_path '{models}' --build_yaml_path out.yaml"
    done = run(line, folder, code=2)
    assert message in done.stderr and done.stderr.count("error: ") == 1
    assert not (folder / "out.yaml").exists()


def the_articles_model() -> Program:
    """Build x + len([x, x]) * x, with the two operators that the article's file names."""
    builder = ProgramBuilder("article")
    x = builder.input(ProgramInput(0, Tag.TENSOR, CODE_OF_NAME["Float"], (Dim(2, 2), Dim(2, 2))))
    length, total = builder.variable(Tag.INT), builder.variable(Tag.TENSOR)
    builder.call("aten::len.t", [builder.list_of(Tag.TENSOR_LIST, [x, x])], [length])
    builder.call("aten::add.Tensor", [x, x, length], [total])
    builder.outputs.append(total)
    return builder.finish()


def test_the_articles_file_builds_and_its_model_runs(article_build: Path, folder: Path) -> None:
    chosen = yaml.safe_load((article_build / CODE).read_text())
    assert set(chosen["operators"]) == {"aten::add.Tensor", "aten::len.t"}
    assert chosen["kernel_metadata"]["add"] == ["Float"]
    write_program(the_articles_model(), folder / "article.sgp")
    given = np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::2]
    np.save(folder / "x.npy", np.ascontiguousarray(given))
    program = "./build_mobile/install/bin/run_program --program article.sgp"
    assert run(f"{program} --check", folder).stderr == ""
    run(f"mkdir -p out && {program} --input x.npy --output-dir out", folder)
    assert np.array_equal(np.load(folder / "out" / "output0.npy"), given * 3)
    # The image does not contain the names of other operators.
    done = run("strings build_mobile/install/bin/run_program | grep -c aten::", folder)
    assert int(done.stdout) <= 4
    assert (article_build / "install/lib/cmake/sizeguard/sizeguardConfig.cmake").is_file()


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ("USE_CUDA=1", "USE_CUDA=1 is not possible here: kernels are for CPUs"),
        ("BUILD_LITE_INTERPRETER=OFF", "BUILD_LITE_INTERPRETER=OFF is not possible here"),
        ("BUILD_SHARED_LIBS=yes", "give -DSG_LINK=shared"),
        ("USE_NUMPY=maybe", "USE_NUMPY is ON or OFF, not 'maybe'"),
        ("SELECTED_OP_LIST=nowhere.yaml", "SELECTED_OP_LIST: nowhere.yaml: no such file"),
    ],
)
def test_the_script_refuses_what_it_does_not_do(variables: str, message: str, folder: Path) -> None:
    line = f"{variables} BUILD_ROOT=refused ./scripts/build_mobile.sh"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())


def configured(options: str, folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    return run(f"cmake -S native -B '{name}' -G Ninja {options}", folder)


def test_plain_cmake_reads_no_environment_and_says_so(folder: Path) -> None:
    command = "SELECTED_OP_LIST=selected_ops.yaml TRACING_BASED=1 USE_CUDA=0 cmake -S native"
    done = run(f"{command} -B plain -G Ninja -DUSE_CUDA=0", folder)
    said = " ".join(done.stderr.split())
    assert "CMake does not read the environment, so these variables have no effect" in said
    assert "-DTRACING_BASED=1 -DSELECTED_OP_LIST=selected_ops.yaml" in said
    assert "USE_CUDA" not in said
    chosen = yaml.safe_load((folder / "plain" / CODE).read_text())
    assert chosen["include_all_operators"]
    quiet = configured("-DTRACING_BASED=1 -DSELECTED_OP_LIST=selected_ops.yaml", folder, "plain")
    assert "environment" not in quiet.stderr
    chosen = yaml.safe_load((folder / "plain" / CODE).read_text())
    assert chosen["kernel_metadata"]["add"] == ["Float"]


def test_options_of_cmake_as_in_the_environment(folder: Path) -> None:
    text = ARTICLE.replace("mul_cpu: [Float]", "nms_kernel: [Float]")
    (folder / "foreign.yaml").write_text(text)
    done = configured(
        "-DBUILD_LITE_INTERPRETER=1 -DUSE_NUMPY=0 -DTRACING_BASED=ON"
        " -DSELECTED_OP_LIST=foreign.yaml", folder, "options",
    )  # fmt: skip
    assert (
        "nms_kernel belongs to no operator of this runtime; it would have kept Float"
        in " ".join(done.stderr.split())
    )
    # Without TRACING_BASED only the operators are selected, and the tags are ignored.
    done = configured("-DTRACING_BASED=OFF", folder, "options")
    assert "nms_kernel" not in done.stdout + done.stderr
    chosen = yaml.safe_load((folder / "options" / CODE).read_text())
    assert "Long" in chosen["kernel_metadata"]["add"]
    assert set(chosen["operators"]) == {"aten::add.Tensor", "aten::len.t"}


def test_options_may_have_types(folder: Path) -> None:
    configured(
        "-DSELECT_OPS_LIST:STRING='aten::add.out, aten::mm.out' -DSELECT_ALL_OPS:BOOL=OFF"
        " -DSELECT_OPS_YAML:FILEPATH=OFF -DSG_OPTIMIZE:STRING=-O2 -DUSE_CUDA:BOOL=0",
        folder, "typed",
    )  # fmt: skip
    chosen = yaml.safe_load((folder / "typed" / CODE).read_text())
    assert set(chosen["operators"]) == {"aten::add.Tensor", "aten::mm"}
    misspelt = "cmake -S native -B misspelt -G Ninja -DSELECT_OP_LIST:STRING=aten::add.out"
    assert "does not know the option SELECT_OP_LIST" in " ".join(
        run(misspelt, folder, 1).stderr.split()
    )


def test_a_list_of_executorch_selects_dtypes_by_its_kernel_keys(folder: Path) -> None:
    listed = ROOT / "tests" / "data" / "models_executorch" / "add_mul.yaml"
    configured(f"-DSELECTED_OP_LIST={listed} -DDTYPE_SELECTIVE_BUILD=ON", folder, "keys")
    chosen = yaml.safe_load((folder / "keys" / CODE).read_text())
    assert set(chosen["operators"]) == {"aten::add.Tensor", "aten::mm"}
    assert chosen["kernel_metadata"] == {"add": ["Float"], "copy": ["Float"], "gemm": ["Float"]}


CALLS = {
    "three arguments": """
gen_selected_ops("${{CMAKE_CURRENT_SOURCE_DIR}}/list.yaml" "aten::relu,aten::mm.out," "")
generate_bindings_for_kernels("${{native}}/operators/operators.yaml" "")
gen_operators_lib(mine KERNEL_LIBS sg_kernels DEPS sg_runtime)
""",
    "no library name": """
gen_selected_ops("" "aten::add.out" "")
generate_bindings_for_kernels(FUNCTIONS_YAML "${{native}}/operators/operators.yaml")
gen_operators_lib("mine" KERNEL_LIBS sg_kernels DEPS sg_runtime)
""",
    "keywords": """
gen_selected_ops(
  LIB_NAME "mine"
  OPS_SCHEMA_YAML "list.yaml"
  ROOT_OPS "aten::relu,aten::mm.out"
  INCLUDE_ALL_OPS "OFF"
  OPS_FROM_MODEL "OFF"
  DTYPE_SELECTIVE_BUILD "")
generate_bindings_for_kernels(
  LIB_NAME "mine"
  FUNCTIONS_YAML ${{native}}/operators/operators.yaml
  CUSTOM_OPS_YAML ""
  ADD_EXCEPTION_BOUNDARY)
gen_operators_lib(LIB_NAME "mine" KERNEL_LIBS sg_kernels DEPS sg_runtime DTYPE_SELECTIVE_BUILD OFF)
""",
    "merged": """
set(made "${{CMAKE_CURRENT_BINARY_DIR}}")
merge_yaml(FUNCTIONS_YAML list.yaml FALLBACK_YAML more.yaml OUTPUT_DIR "${{made}}")
gen_selected_ops(LIB_NAME mine OPS_SCHEMA_YAML "${{made}}/merged.yaml")
generate_bindings_for_kernels(LIB_NAME mine FUNCTIONS_YAML "${{native}}/operators/operators.yaml")
gen_operators_lib(LIB_NAME mine KERNEL_LIBS sg_kernels DEPS sg_runtime)
""",
    "nothing": """
gen_selected_ops("" "" "")
""",
    "two libraries": """
set(yaml "${{native}}/operators/operators.yaml")
foreach(name one other)
  gen_selected_ops(LIB_NAME ${{name}} ROOT_OPS aten::relu)
  generate_bindings_for_kernels(LIB_NAME ${{name}} FUNCTIONS_YAML "${{yaml}}")
  gen_operators_lib(LIB_NAME ${{name}} KERNEL_LIBS sg_kernels DEPS sg_runtime)
endforeach()
add_executable(app main.cpp)
target_link_libraries(app PRIVATE one other)
""",
}  # fmt: skip
OUTER = """
cmake_minimum_required(VERSION 3.22)
project(mine LANGUAGES C CXX)
set(SG_OPTIMIZE -Os)
set(native "{native}")
add_subdirectory("${{native}}" sizeguard)
"""


def outer_project(name: str, folder: Path, code: int) -> subprocess.CompletedProcess[str]:
    project = folder / name
    project.mkdir()
    text = (OUTER + CALLS[name]).format(native=folder / "native")
    (project / "CMakeLists.txt").write_text(text)
    (project / "main.cpp").write_text("int main() {}\n")
    (project / "list.yaml").write_text("- op: add.out\n  kernels: []\n")
    (project / "more.yaml").write_text("- op: mm.out\n  kernels: []\n- op: add.out\n")
    return run(f"cmake -S '{name}' -B '{name}/build' -G Ninja", folder, code)


@pytest.mark.parametrize(
    ("name", "library", "operators"),
    [
        ("three arguments", "selected_ops", {"aten::relu", "aten::mm", "aten::add.Tensor"}),
        ("no library name", "selected_ops", {"aten::add.Tensor"}),
        ("keywords", "mine", {"aten::relu", "aten::mm", "aten::add.Tensor"}),
        ("merged", "mine", {"aten::mm", "aten::add.Tensor"}),
    ],
)
def test_calls_of_executorchs_functions(
    name: str, library: str, operators: set[str], folder: Path
) -> None:
    outer_project(name, folder, 0)
    selected = folder / name / "build" / library / "code" / "selected_operators.yaml"
    assert set(yaml.safe_load(selected.read_text())["operators"]) == operators


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "nothing is selected"),
        ("two libraries", 'GENERATED_OPERATORS_OF_ONE_LIBRARY property of "other" does not agree'),
    ],
)
def test_calls_that_are_refused(name: str, message: str, folder: Path) -> None:
    assert message in " ".join(outer_project(name, folder, 1).stderr.split())
