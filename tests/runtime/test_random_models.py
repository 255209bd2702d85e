"""A hundred random models, made by tests/generators/random_models.py.

All of them import, run and agree with PyTorch.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.models.array_difference import difference
from sizeguard.models.npy import read_npy
from sizeguard.runtimes.sizeguard.importing.importer import default_library, import_model
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from tests.support.builds.vectors import ROOT, run_program

MODELS = sorted(
    path for path in (ROOT / "tests" / "data" / "random_models").iterdir() if path.is_dir()
)


def cases_of(folder: Path) -> list[list[Path]]:
    """Return the inputs of each case, in order."""
    count = len(list(folder.glob("case*_input0.npy")))
    return [sorted_by_number(folder, f"case{case}_input") for case in range(count)]


def sorted_by_number(folder: Path, prefix: str) -> list[Path]:
    return [folder / f"{prefix}{i}.npy" for i in range(len(list(folder.glob(f"{prefix}*.npy"))))]


def test_there_are_a_hundred() -> None:
    assert len(MODELS) == 100


@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)
def test_model(folder: Path, full_build: Build, tmp_path: Path) -> None:
    program = tmp_path / "model.sgp"
    cases = cases_of(folder)
    write_program(
        import_model(folder / "model.pt2", default_library(), folder.name, cases).program, program
    )
    assert cases
    for case in range(len(cases)):
        outcome = run_program(
            full_build.shipped, program, tmp_path / str(case), "--case", str(case)
        )
        assert outcome.returncode == 0, outcome.stderr
        expected = sorted_by_number(folder, f"case{case}_expected")
        assert expected
        assert len(list((tmp_path / str(case)).iterdir())) == len(expected)
        for i, file in enumerate(expected):
            wrong = difference(read_npy(tmp_path / str(case) / f"output{i}.npy"), read_npy(file))
            assert wrong is None, f"case {case}, output {i}: {wrong}"
