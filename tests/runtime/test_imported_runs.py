"""Test imported models on the full runtime.

Every export feature and every sample model, plain and prepacked, has PyTorch's results.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.importing.importer import default_library, import_model
from sizeguard.runtimes.sizeguard.program.program import Program
from sizeguard.runtimes.sizeguard.program.program_file import write_program
from tests.support.builds.vectors import run_program
from tests.support.places import ROOT

FEATURES = [
    path
    for path in sorted((ROOT / "tests" / "data" / "exported_models").glob("*/*.pt2"))
    if list(path.parent.glob("case0_*"))
]
WITH_LINEAR = [
    ROOT / "native" / "models" / name
    for name in ("mlp", "encoder", "lstm_tagger", "mobilenet_v2", "branchy")
]
PREPACKED = [folder / f"{form}.pt2" for folder in WITH_LINEAR for form in ("model", "model_core")]


def assert_runs(build: Build, path: Path, prepack: bool, folder: Path) -> Program:
    """Import with all cases, run each, and compare with the expected outputs beside the model."""
    count = len(list(path.parent.glob("case*_input0.npy")))
    cases = [sorted(path.parent.glob(f"case{i}_input*.npy")) for i in range(count)]
    program = import_model(path, default_library(), "m", cases, prepack).program
    write_program(program, folder / "m.sgp")
    for case in range(count):
        output = folder / str(case)
        done = run_program(Path(build.shipped), folder / "m.sgp", output, "--case", str(case))
        assert (done.returncode, done.stderr) == (0, "")
        for file in path.parent.glob(f"case{case}_expected*.npy"):
            expected, given = (
                np.load(file),
                np.load(output / f"output{file.stem.partition('expected')[2]}.npy"),
            )
            assert (given.dtype, given.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(given, expected, rtol=1.3e-6, atol=1e-5)
    return program


@pytest.mark.parametrize("path", FEATURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
@pytest.mark.parametrize("prepack", [False, True], ids=["", "prepacked"])
def test_a_feature_runs(full_build: Build, path: Path, prepack: bool, tmp_path: Path) -> None:
    assert_runs(full_build, path, prepack, tmp_path)


@pytest.mark.parametrize("path", PREPACKED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_prepacked_sample_model_runs(full_build: Build, path: Path, tmp_path: Path) -> None:
    assert "prepacked::linear_clamp_run" in assert_runs(full_build, path, True, tmp_path).operators
