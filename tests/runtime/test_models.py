"""Every sample model, in both forms and with every case.

The full build agrees with PyTorch, and the selective build gives the same bits as the full build.
Only one form of each model has a selective build, since such a build takes fifteen seconds. All
are made in one folder, which compiles only what differs from the one before: 10 CPU seconds for 29.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sizeguard.builds.build_record import Build
from sizeguard.models.array_difference import difference
from sizeguard.models.npy import read_npy
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant
from sizeguard.toolchains.toolchain import Toolchain
from tests.support.builds.vectors import ROOT, run_program
from tests.support.whole_products import choose

MODELS = sorted(path.name for path in (ROOT / "native" / "models").iterdir() if path.is_dir())
FORMS = ("model", "model_core")
SELECTIVE = choose(
    [(model, FORMS[i // 4 % 2]) for i, model in enumerate(MODELS) if i % 4 == 1],
    [(model, form) for model in MODELS for form in FORMS],
)


def results(build: Build, program: Path, model: str, folder: Path) -> dict[tuple[int, int], Path]:
    """Run every case; return the output files by case and index."""
    cases = len(list((ROOT / "native" / "models" / model).glob("case*_input0.npy")))
    assert cases
    found = {}
    for case in range(cases):
        output_dir = folder / build.variant.replace("/", "_") / str(case)
        outcome = run_program(build.shipped, program, output_dir, "--case", str(case))
        assert (outcome.returncode, outcome.stderr) == (0, "")
        found.update(
            {
                (case, i): output_dir / f"output{i}.npy"
                for i in range(len(list(output_dir.iterdir())))
            }
        )
    return found


def selected(selection: Path, toolchain: Toolchain) -> Build:
    """Build what a selection keeps, in the folder of the other models' builds."""
    variant = Variant("selective", selection.stem, selection, optimize="s", sanitize="")
    folder = ROOT / "build" / "tests" / "models"
    return build(ROOT, checked_variant(ROOT, variant), toolchain, folder)


def test_there_are_eleven_models() -> None:
    assert len(MODELS) == 11


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS)
def test_full_build_gives_the_expected_arrays(
    model: str, form: str, full_build: Build, program: Callable[..., Path], tmp_path: Path
) -> None:
    given = results(full_build, program(model, form), model, tmp_path)
    expected = list((ROOT / "native" / "models" / model).glob("case*_expected*.npy"))
    assert len(given) == len(expected)
    for (case, i), file in given.items():
        wrong = difference(
            read_npy(file),
            read_npy(ROOT / "native" / "models" / model / f"case{case}_expected{i}.npy"),
        )
        assert wrong is None, f"case {case}, output {i}: {wrong}"


@pytest.mark.parametrize(("model", "form"), SELECTIVE)
def test_selective_build_gives_the_same_bits(
    model: str,
    form: str,
    full_build: Build,
    selection: Callable[..., Path],
    toolchain: Toolchain,
    program: Callable[..., Path],
    tmp_path: Path,
) -> None:
    wanted = results(full_build, program(model, form), model, tmp_path)
    own = selected(selection(model, form), toolchain)
    given = results(own, program(model, form), model, tmp_path)
    assert given.keys() == wanted.keys()
    for key, file in wanted.items():
        assert given[key].read_bytes() == file.read_bytes(), f"case {key[0]}, output {key[1]}"
