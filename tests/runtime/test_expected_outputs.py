"""`run_program --expected` compares outputs within the tolerances of the table of dtypes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sizeguard.builds.build_record import Build
from sizeguard.models.array_difference import difference, numbers
from sizeguard.models.npy import Array, read_npy, write_npy
from sizeguard.operators.dtypes import NPY_NAMES, TOLERANCES

# They give Half, Float, Double, Short and Long.
MODELS = ("mlp", "half_compute", "half_mix", "int_ops")
_LARGEST = re.compile(r"largest difference is ([-+.\w]+), at (\[[\d, ]*\])")


def compare(
    image: Path, program: Path, *expected: Path, case: int = 0
) -> subprocess.CompletedProcess[str]:
    words = [word for path in expected for word in ("--expected", str(path))]
    command = [image, "--program", program, "--case", str(case), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def expected_files(folder: Path, case: int = 0) -> list[Path]:
    return sorted(folder.glob(f"case{case}_expected*.npy"))


@pytest.mark.parametrize("model", MODELS)
def test_models_give_what_pytorch_gave(
    model: str, full_build: Build, program: Callable[..., Path], models_dir: Path
) -> None:
    done = compare(full_build.shipped, program(model), *expected_files(models_dir / model))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def changed(array: Array, number: int, value: float) -> Array:
    """Replace one element."""
    values = np.frombuffer(array.data, NPY_NAMES[array.dtype]).copy()
    values[number] = np.array(value).astype(values.dtype)
    return replace(array, data=values.tobytes())


def near_and_far(array: Array) -> Iterator[Array]:
    """Change the last element by less and by more than the tolerance, and to special numbers."""
    relative, absolute = TOLERANCES[array.dtype]
    last = numbers(array).reshape(-1)[-1].item()
    if not relative:
        yield from (changed(array, -1, last + step) for step in (0, 1, -3))
        return
    for factor in (0.4, 0.9, 1.2, 3.0):
        room = absolute + relative * abs(last)
        yield from (changed(array, -1, last + sign * factor * room) for sign in (-1, 1))
    yield from (changed(array, 0, value) for value in (np.nan, np.inf, -np.inf))


@pytest.mark.parametrize("model", MODELS)
def test_verdicts_agree_with_the_tolerances_of_the_table(
    model: str,
    full_build: Build,
    program: Callable[..., Path],
    models_dir: Path,
    tmp_path: Path,
) -> None:
    """The table of dtypes in Python and the one in C++ must have the same numbers."""
    files = expected_files(models_dir / model)
    command = [full_build.shipped, "--program", program(model), "--case", "0"]
    subprocess.run([*command, "--output-dir", tmp_path], check=True)
    outputs = [read_npy(tmp_path / f"output{i}.npy") for i in range(len(files))]
    verdicts = set()
    for number, output in enumerate(outputs):
        for wanted in near_and_far(output):
            file = tmp_path / "wanted.npy"
            write_npy(file, wanted)
            given = [*files[:number], file]
            done = compare(full_build.shipped, program(model), *given)
            wrong = difference(output, wanted)
            assert done.returncode == (0 if wrong is None else 3), (wrong, done.stderr)
            verdicts.add(done.returncode)
            if wrong is not None:
                assert f"output {number} is not {file}: 1 of " in done.stderr
    assert verdicts == {0, 3}


def test_the_message_has_the_first_and_the_largest_difference(
    full_build: Build, program: Callable[..., Path], models_dir: Path, tmp_path: Path
) -> None:
    array = read_npy(models_dir / "mlp" / "case0_expected0.npy")
    values = numbers(array).reshape(-1)
    other = changed(changed(array, 3, values[3] + 1), 12, values[12] - 2)
    write_npy(tmp_path / "e.npy", other)
    done = compare(full_build.shipped, program("mlp"), tmp_path / "e.npy")
    assert done.returncode == 3
    assert "2 of 20 numbers differ, first at [0, 3]: " in done.stderr
    found = _LARGEST.search(done.stderr)
    assert found is not None and found[2] == "[1, 2]"
    assert float(found[1]) == pytest.approx(2, abs=1e-5)


def test_outputs_are_written_although_they_differ(
    full_build: Build, program: Callable[..., Path], models_dir: Path, tmp_path: Path
) -> None:
    wrong = models_dir / "mlp" / "case1_expected0.npy"
    command = [full_build.shipped, "--program", program("mlp"), "--case", "0"]
    done = subprocess.run(
        [*command, "--expected", wrong, "--output-dir", tmp_path], capture_output=True, check=False
    )
    assert done.returncode == 3
    assert read_npy(tmp_path / "output0.npy").shape == (2, 10)


def test_a_check_with_expected_outputs_compares_them(
    full_build: Build, program: Callable[..., Path], models_dir: Path
) -> None:
    for case, code in ((0, 0), (1, 3)):
        file = models_dir / "mlp" / f"case{case}_expected0.npy"
        command = [full_build.shipped, "--program", program("mlp"), "--check", "--case", "0"]
        done = subprocess.run([*command, "--expected", file], capture_output=True, check=False)
        assert done.returncode == code


@pytest.mark.parametrize(
    ("file", "code", "message"),
    [
        ("case0_input0.npy", 3, "the shapes differ"),
        ("long.npy", 3, "dtype Float, expected Long"),
        ("gone.npy", 2, "gone.npy: cannot read"),
        ("model.pt2", 2, "not a .npy file"),
    ],
)
def test_files_that_are_no_expected_output(
    file: str,
    code: int,
    message: str,
    full_build: Build,
    program: Callable[..., Path],
    models_dir: Path,
    tmp_path: Path,
) -> None:
    write_npy(tmp_path / "long.npy", Array("Long", (2, 10), bytes(160)))
    folder = tmp_path if file == "long.npy" else models_dir / "mlp"
    done = compare(full_build.shipped, program("mlp"), folder / file)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_more_files_than_outputs_are_refused(
    full_build: Build, program: Callable[..., Path], models_dir: Path
) -> None:
    file = models_dir / "mlp" / "case0_expected0.npy"
    done = compare(full_build.shipped, program("mlp"), file, file)
    assert done.returncode == 2
    assert "has 1 outputs, but 2 are expected" in done.stderr


def test_builds_without_the_feature_refuse_the_option(
    selective: Callable[..., Build], program: Callable[..., Path], models_dir: Path
) -> None:
    file = models_dir / "mlp" / "case0_expected0.npy"
    done = compare(selective("mlp").shipped, program("mlp"), file)
    assert done.returncode == 2
    assert done.stderr.startswith("error: --expected; usage: ")
    assert done.stderr.count("--expected") == 1
