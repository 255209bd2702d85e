"""Build 41 models in three ways, run each build, and print the three sizes.

    python -m tests.soak.sizes.model_sizes --torch-python PYTHON [--model NAME]… [--folder FOLDER]

The eleven sample models, and thirty of ten architectures that PYTHON, which has torch 2.13, exports
(tests/generators/architecture_models.py); without it the eleven alone. Each is built by
SELECT_OPS_MODEL (its operators and their callees, all dtypes), by its static closure (and the
dtypes that can be met), and by a trace (what its inputs met). Must hold: every build runs all
inputs, with outputs equal to the full build's, bit for bit; those of the exports are near to
PyTorch's; traced <= static <= by model. What names an operator that the runtime lacks is counted
and named.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sizeguard.base.errors import InputError
from sizeguard.builds.measured_sizes import measure
from sizeguard.predict.full_build import FullBuild, read_full_build
from sizeguard.predict.reachable import static_selection
from sizeguard.runtimes.model_files import read_models
from sizeguard.runtimes.sizeguard.building.driver import build
from sizeguard.runtimes.sizeguard.building.programs import cases_beside, program_of
from sizeguard.runtimes.sizeguard.building.tracing import instrumented_build, trace_programs
from sizeguard.runtimes.sizeguard.building.variants import Variant, checked_variant, default_folder
from sizeguard.runtimes.sizeguard.native_sources import NativeSources
from sizeguard.selection.write import write_selection
from sizeguard.toolchains.stripped import strip
from sizeguard.toolchains.toolchain import Toolchain, find_toolchain
from tests.support.places import ROOT
from tests.support.script import Tally, options_of

WAYS = ("by model", "static", "traced")
NEAR = {"float16": 2e-2, "float32": 1e-4}


@dataclass(frozen=True, slots=True)
class Bench:
    """The settings for all models."""

    folder: Path
    toolchain: Toolchain
    full: FullBuild
    runner: Path


def exported(python: str, folder: Path) -> list[Path]:
    """Export the thirty models, or find earlier exports."""
    command = [python, "-W", "ignore", "-m", "tests.generators.architecture_models"]
    done = subprocess.run([*command, folder, "--list"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: {python}: {done.stderr.strip().splitlines()[-1]}")
    names = done.stdout.split()
    models = [folder / name / "model.pt2" for name in names]
    if not all((model.parent / "case1_expected0.npy").is_file() for model in models):
        subprocess.run([*command, folder], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return models


def image_by_model(bench: Bench, model: Path) -> Path:
    """Return the stripped image of -DSELECT_OPS_MODEL, with one folder for all models."""
    folder = bench.folder / "by-model"
    sizeguard = Path(sys.executable).with_name("sizeguard")
    command = ["cmake", "-S", ROOT / "native", "-B", folder, "-G", "Ninja"]
    options = [f"-DSIZEGUARD={sizeguard}", f"-DSELECT_OPS_MODEL={model}"]
    subprocess.run([*command, *options], check=True, capture_output=True)
    subprocess.run(["ninja", "-C", folder, "run_program"], check=True, capture_output=True)
    strip("strip", folder / "run_program", folder / "run_program.stripped")
    return folder / "run_program.stripped"


def image_of(bench: Bench, selection: Path, way: str) -> Path:
    """Return the stripped image of a selection with its dtypes, with one folder for all models."""
    asked = Variant("selective", "model", selection, dtypes=True, optimize="s", sanitize="")
    variant = checked_variant(ROOT, asked)
    return build(ROOT, variant, bench.toolchain, bench.folder / way).shipped


def images(bench: Bench, model: Path, program: Path) -> dict[str, Path]:
    """Return the image of each way."""
    chosen = bench.folder / "static.yaml"
    features = NativeSources(ROOT, ROOT).features()
    write_selection(
        chosen, static_selection(bench.full, read_models([model], ROOT), features).selection
    )
    traced = bench.folder / "traced.yaml"
    trace_programs(instrumented_build(ROOT, ROOT), [program], traced, executed_only=False)
    return {
        "by model": image_by_model(bench, model),
        "static": image_of(bench, chosen, "static"),
        "traced": image_of(bench, traced, "traced"),
    }


def outputs(image: Path, program: Path, case: int) -> tuple[str, dict[str, bytes]]:
    """Return the output of a build for an input, and the files that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [image, "--program", program, "--case", str(case), "--output-dir", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = done.stderr.strip() if done.returncode else ""
        return said, {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def check_expected(tally: Tally, model: Path, case: int, found: bytes) -> None:
    """Compare with PyTorch's first output, if it is beside the model."""
    path = model.parent / f"case{case}_expected0.npy"
    if not path.is_file():
        return
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        file.write(found)
        file.flush()
        ours, expected = np.load(file.name), np.load(path)
    near = NEAR.get(str(expected.dtype), 0.0)
    is_near = ours.shape == expected.shape and np.allclose(ours, expected, near, near)
    tally.check(is_near, f"{model.parent.name} case {case}: not PyTorch's output")


def check_model(bench: Bench, tally: Tally, model: Path, *, is_export: bool) -> str:
    """Build, run and compare one model; return its row, or the reason for its absence."""
    name = model.parent.name
    try:
        program = program_of(model, bench.folder / "programs", ROOT)
    except InputError as error:
        return f"{name:28} {str(error).partition(': ')[2].partition(' (')[0]}"
    sizes = []
    wanted = [outputs(bench.runner, program, case) for case in range(len(cases_beside(model)))]
    for way, image in images(bench, model, program).items():
        for case, (said, expected) in enumerate(wanted):
            refused, found = outputs(image, program, case)
            tally.check(not said and not refused, f"{name} {way} {case}: {said}{refused}")
            tally.check(found == expected, f"{name} {way} {case}: other outputs")
            if is_export and way == "traced" and found:
                check_expected(tally, model, case, found["output0.npy"])
        sizes.append(measure(image).load)
    by_model, static, traced = sizes
    tally.check(traced <= static <= by_model, f"{name}: {traced:,} {static:,} {by_model:,}")
    numbers = "".join(f"{size:>10,}" for size in sizes)
    return f"{name:28}{numbers}{by_model - static:>14,}{static - traced:>14,}"


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--torch-python", help="a Python that has torch 2.13")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "model-sizes")
    parser.add_argument("--model", action="append", help="only these")
    options = parser.parse_args()
    samples = sorted((ROOT / "native" / "models").glob("*/model.pt2"))
    exports: list[Path] = []
    if options.torch_python:
        exports = exported(options.torch_python, options.folder.resolve() / "exports")
    toolchain = find_toolchain("gcc", None)
    whole = Variant("full")
    full = build(ROOT, whole, toolchain, default_folder(ROOT, whole, toolchain))
    bench = Bench(
        options.folder.resolve(), toolchain, read_full_build(full.image.parent), full.shipped
    )
    bench.folder.mkdir(parents=True, exist_ok=True)
    tally = Tally()
    print(f"{'loaded bytes':28}", *(f"{way:>9}" for way in WAYS), "  other dtypes     not met")
    rows, lacking = 0, 0
    for model in [*samples, *exports]:
        if options.model and model.parent.name not in options.model:
            continue
        row = check_model(bench, tally, model, is_export=model in exports)
        print(row, flush=True)
        rows += 1
        lacking += "is not in this runtime" in row
    without = "" if exports else "; no exports: give --torch-python"
    return tally.close(f"{rows} models, {lacking} lack an operator{without}")


if __name__ == "__main__":
    sys.exit(main())
