"""The C interface, used by C programs: outputs, lifetimes, wrong arguments.

The programs use an installed and moved package. They and the runtime are built with
AddressSanitizer and UBSan, so every memory error ends a program.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from sizeguard.runtimes.sizeguard.building.programs import program_of
from tests.support.places import ROOT

pytestmark = pytest.mark.native

NATIVE = ROOT / "native"
C_PROGRAMS = ROOT / "tests" / "data" / "c_api"
MODELS = {
    **{name: NATIVE / "models" / name for name in ("mlp", "encoder", "tanh_rnn")},
    **{
        name: ROOT / "tests" / "data" / "exported_models" / name
        for name in ("passthrough", "int_input")
    },
}
SANITIZE = "address,undefined"
CODES = {"uint8": 0, "int64": 4, "float32": 6, "float64": 7, "bool": 11}
OPTIONS = {"ASAN_OPTIONS": "allocator_may_return_null=1:detect_leaks=1"}


def run(
    *command: object, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done


@pytest.fixture(scope="module")
def selective_build(tmp_path_factory: pytest.TempPathFactory, native_tools: None) -> Path:
    """Make a selective build with sanitizers."""
    folder = tmp_path_factory.mktemp("native")
    models = ";".join(str(path / "model.pt2") for path in MODELS.values())
    options = [
        f"-DSELECT_OPS_MODEL={models}",
        "-DDTYPE_SELECTIVE_BUILD=ON",
        f"-DSG_SANITIZE={SANITIZE}",
        "-DSG_OPTIMIZE=-O0",
        f"-DSIZEGUARD={Path(sys.executable).with_name('sizeguard')}",
    ]
    run("cmake", "-S", NATIVE, "-B", folder, "-G", "Ninja", *options)
    run("ninja", "-C", folder)
    return folder


@pytest.fixture(scope="module")
def moved(selective_build: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package, and move it to another folder."""
    folder = tmp_path_factory.mktemp("package")
    run("cmake", "--install", selective_build, "--prefix", folder / "installed")
    return Path(shutil.move(folder / "installed", folder / "moved"))


@pytest.fixture(scope="module")
def programs(moved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the C programs with the package; return their folder."""
    folder = tmp_path_factory.mktemp("c_programs")
    options = [f"-DCMAKE_PREFIX_PATH={moved}", f"-DSANITIZE={SANITIZE}"]
    run("cmake", "-S", C_PROGRAMS, "-B", folder, "-G", "Ninja", *options)
    run("ninja", "-C", folder)
    return folder


def write_raw(path: Path, array: np.ndarray) -> None:
    words = [CODES[array.dtype.name], array.ndim, *array.shape]
    path.write_bytes(" ".join(map(str, words)).encode() + b"\n" + array.tobytes())


def read_raw(path: Path) -> np.ndarray:
    head, _, elements = path.read_bytes().partition(b"\n")
    code, _, *shape = (int(word) for word in head.split())
    names = {code: name for name, code in CODES.items()}
    return np.frombuffer(elements, names[code]).reshape(shape)


@pytest.mark.parametrize("model", MODELS)
def test_outputs_equal_those_of_run_program(
    model: str, programs: Path, selective_build: Path, tmp_path: Path
) -> None:
    path = MODELS[model]
    compiled = program_of(path / "model.pt2", tmp_path)
    inputs = sorted(path.glob("case0_input*.npy"))
    for number, file in enumerate(inputs):
        write_raw(tmp_path / f"input{number}", np.load(file))
    done = run(programs / "run_raw", compiled, tmp_path, env=OPTIONS)
    command = [word for file in inputs for word in ("--input", file)]
    run(
        selective_build / "run_program",
        "--program",
        compiled,
        *command,
        "--output-dir",
        tmp_path,
    )
    expected = sorted(tmp_path.glob("output*.npy"))
    assert expected
    for file in expected:
        ours, theirs = read_raw(tmp_path / file.stem), np.load(file)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.tobytes() == theirs.tobytes()
    for file in path.glob("case0_expected*.npy"):
        number = file.stem.removeprefix("case0_expected")
        ours = read_raw(tmp_path / f"output{number}")
        np.testing.assert_allclose(ours, np.load(file), rtol=1e-4, atol=1e-5)
    nones = {f"output{line.split()[1]}" for line in done.stdout.splitlines()}
    written = {file.stem for file in expected}
    assert not nones & written
    assert len(nones | written) == len(list(tmp_path.glob("output[0-9]"))) + len(nones)


def test_wrong_arguments_are_errors(
    programs: Path, program: Callable[..., Path], tmp_path: Path
) -> None:
    """Every call with wrong arguments, or in the wrong order, returns a code and prints a line."""
    (tmp_path / "empty").touch()
    passthrough = program_of(MODELS["passthrough"] / "model.pt2", tmp_path)
    done = run(
        programs / "misuse",
        program("mlp"),
        program("encoder"),
        passthrough,
        program("quant_cnn"),
        cwd=tmp_path,
        env=OPTIONS,
    )
    assert done.stdout.splitlines() == (C_PROGRAMS / "misuse.txt").read_text().splitlines()


def test_another_version_is_not_found(moved: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(app LANGUAGES C)\n"
        "find_package(sizeguard 17 REQUIRED)\n"
    )
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "out", f"-DCMAKE_PREFIX_PATH={moved}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'compatible with requested version "17"' in " ".join(done.stderr.split())
