"""SELECT_OPS_MODEL builds run their models: they include all callees of the named operators."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from sizeguard.builds.build_record import Build
from sizeguard.predict.full_build import read_full_build
from sizeguard.predict.reachable import static_selection
from sizeguard.runtimes.model_files import read_models
from sizeguard.runtimes.sizeguard.native_sources import NativeSources
from sizeguard.selection.read import read_selection
from tests.support.places import ROOT
from tests.support.whole_products import choose

NATIVE = ROOT / "native"
# By default, one model with branches and one with lists: each build takes 20 seconds.
MODELS = choose(
    [f"{name}/model.pt2" for name in ("branchy", "lstm_tagger")],
    [
        *(f"{path.name}/model.pt2" for path in sorted((NATIVE / "models").iterdir())),
        "mlp/model_core.pt2",
    ],
)
pytestmark = pytest.mark.native


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> Path:
    """One build folder for all models, so that shared files are compiled once."""
    return tmp_path_factory.mktemp("selected")


def configure(folder: Path, *options: str) -> str:
    command = ["cmake", "-S", str(NATIVE), "-B", str(folder), "-G", "Ninja", *options]
    sizeguard = Path(sys.executable).with_name("sizeguard")
    done = subprocess.run(
        [*command, f"-DSIZEGUARD={sizeguard}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def make(folder: Path, *options: str) -> Path:
    configure(folder, *options)
    subprocess.run(["ninja", "-C", str(folder), "run_program"], check=True, capture_output=True)
    return folder / "run_program"


def check(image: Path, program: Path) -> subprocess.CompletedProcess[str]:
    command = [image, "--program", program, "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def outputs(image: Path, program: Path, case: int, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    command = [image, "--program", program, "--case", str(case), "--output-dir", folder]
    subprocess.run(command, check=True, capture_output=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("model", MODELS)
def test_a_build_for_a_model_runs_it(
    model: str,
    folder: Path,
    full_build: Build,
    program: Callable[..., Path],
    tmp_path: Path,
) -> None:
    path = NATIVE / "models" / model
    options = [f"-DSELECT_OPS_MODEL={path}", "-DDTYPE_SELECTIVE_BUILD=ON", "-DSELECT_OPS_EXACT=OFF"]
    image = make(folder, *options)
    compiled = program(path.parent.name, path.stem)
    assert check(image, compiled).returncode == 0
    cases = len({file.name.split("_")[0] for file in path.parent.glob("case*_input*.npy")})
    assert cases
    for case in range(cases):
        expected = outputs(full_build.image, compiled, case, tmp_path / f"full{case}")
        assert expected and outputs(image, compiled, case, tmp_path / f"own{case}") == expected

    # A static selection from the full build itself is the same.
    chosen = read_selection(folder / "operators" / "selected_operators.yaml").selection
    features = NativeSources(ROOT, ROOT).features()
    static = static_selection(
        read_full_build(full_build.image.parent), read_models([path], ROOT), features
    ).selection
    assert set(chosen.operators) == set(static.operators)
    assert chosen.kernel_metadata == static.kernel_metadata
    assert chosen.custom_classes == static.custom_classes
    assert chosen.build_features == static.build_features


def test_an_exact_build_names_the_callees_that_it_lacks(
    folder: Path, program: Callable[..., Path], tmp_path: Path
) -> None:
    model = NATIVE / "models" / "mlp" / "model.pt2"
    options = [f"-DSELECT_OPS_MODEL={model}", "-DDTYPE_SELECTIVE_BUILD=OFF"]
    image = make(folder, *options, "-DSELECT_OPS_EXACT=ON")
    done = check(image, program("mlp"))
    assert done.returncode == 1
    missing = {line.split()[3] for line in done.stderr.splitlines()}
    assert {"aten::permute", "aten::addmm", "aten::_softmax"} <= missing
    assert "aten::linear" not in missing
    command = [image, "--program", program("mlp"), "--case", "0", "--output-dir", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "aten::linear: calls aten::" in done.stderr


def test_the_build_says_what_it_keeps(folder: Path, tmp_path: Path) -> None:
    model = NATIVE / "models" / "mlp" / "model.pt2"
    text = configure(tmp_path / "a", f"-DSELECT_OPS_MODEL={model}", "-DDTYPE_SELECTIVE_BUILD=ON")
    assert "model.pt2: 9 callees are kept: aten::add.Tensor, aten::addmm, aten::matmul" in text
    assert "does not state the dtypes of _softmax, add, addmm, copy, gemm; all are kept" in text
    assert "all dtypes are kept" not in text


def test_names_and_lists_bring_their_callees(tmp_path: Path) -> None:
    text = configure(tmp_path / "a", "-DSELECT_OPS_LIST=aten::softmax.int,aten::relu")
    assert "selected_operators.yaml: all dtypes are kept, because none are selected\n" in text
    chosen = yaml.safe_load((tmp_path / "a/operators/selected_operators.yaml").read_text())
    roots = {name: entry["is_root_operator"] for name, entry in chosen["operators"].items()}
    assert roots == {
        "aten::_softmax": False,
        "aten::_to_copy": False,
        "aten::relu": True,
        "aten::softmax.int": True,
        "aten::to.dtype": False,
    }
    listed = tmp_path / "some.yaml"
    listed.write_text(
        "- func: aten::arange(Scalar end) -> Tensor\n  kernel: arange\n  kind: composite\n"
    )
    configure(tmp_path / "b", f"-DSELECT_OPS_YAML={listed}")
    chosen = yaml.safe_load((tmp_path / "b/operators/selected_operators.yaml").read_text())
    assert set(chosen["operators"]) == {"aten::arange", "aten::arange.start_step"}


def test_a_table_of_pytorch_is_read_too(tmp_path: Path) -> None:
    table = tmp_path / "deps.yaml"
    table.write_text("- name: demo::twice\n  depends:\n  - name: aten::mul\n  - name: aten::nope\n")
    done = subprocess.run(
        [
            Path(sys.executable).with_name("sizeguard"),
            *("codegen", "--selection-only", "--root-ops", "demo::twice"),
            *("--op-deps", NATIVE / "operators" / "op_deps.yaml", "--op-deps", table),
            *("--output-dir", tmp_path / "out"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    chosen = yaml.safe_load((tmp_path / "out" / "selected_operators.yaml").read_text())
    assert "aten::mul.Tensor" in chosen["operators"] and "aten::nope" not in chosen["operators"]
    assert "callees are kept: aten::mul" in done.stdout
