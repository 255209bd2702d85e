"""Trace models on the instrumented build to get the selection that they need."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.errors import BuildError, InputError
from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.building.programs import cases_beside, program_of
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.runtimes.sizeguard.model_runner import case_count
from sizeguard.toolchains.bounded import run_bounded
from sizeguard.toolchains.host import run_environment
from sizeguard.toolchains.toolchain import find_toolchain

if TYPE_CHECKING:
    from sizeguard.selection.selection import Selection

_TRACED = "traced.yaml"
TIMEOUT = 1800  # seconds for all models of one call


def trace(
    source: Path,
    models: Sequence[Path],
    output: Path,
    *,
    executed_only: bool,
    root: Path | None = None,
    features: Sequence[str] = (),
) -> Selection:
    """Write the combined selection of all models, with the needs of each, and return it.

    source: the folder with native/
    executed_only: leave out operators that a model names but no input reached
    root: the project, with builds and programs in build/, if it is another folder
    features: build features to select besides those that the models use
    """
    folder = (root or source) / "build" / "programs"
    programs = [_runnable(model, program_of(model, folder, source)) for model in models]
    _check_names(programs)
    # After the checks: a first build takes a minute.
    instrumented = instrumented_build(source, root or source)
    return trace_programs(
        instrumented, programs, output, executed_only=executed_only, features=features
    )


def _runnable(model: Path, program: Path) -> Path:
    """Return the program if it has inputs to run with, and raise InputError otherwise."""
    if model.suffix == ".pt2":
        if not cases_beside(model):
            raise InputError(
                f"{model}: has no inputs to run: put case0_input0.npy (and case0_input1.npy …)"
                " beside the model"
            )
    elif not case_count(program):
        raise InputError(f"{model}: has no inputs to run: import the model with --case")
    return program


def _check_names(programs: Sequence[Path]) -> None:
    names = [program.name for program in programs]
    for name in names:
        # model_tracer gets one list, splits it at commas, and strips each name.
        if "," in name or name != name.strip():
            raise InputError(
                f"'{name}': a traced model has no comma and no leading space in its name; rename it"
            )
    if len(set(names)) < len(names):
        raise InputError(
            f"duplicate model name in {', '.join(names)}: a selection records needs by model name"
        )


def instrumented_build(source: Path, root: Path) -> Build:
    """Return an up-to-date instrumented build. source, root: as for trace."""
    toolchain = find_toolchain("gcc", None)
    variant = Variant("instrumented")
    # As in native_sources: callers that only name models need not import the driver.
    from sizeguard.runtimes.sizeguard.building.driver import build

    return build(source, variant, toolchain, default_folder(root, variant, toolchain))


def trace_programs(
    instrumented: Build,
    programs: Sequence[Path],
    output: Path,
    *,
    executed_only: bool,
    features: Sequence[str] = (),
    timeout: float = TIMEOUT,
) -> Selection:
    """Trace programs with bundled inputs on an instrumented build.

    timeout: seconds for all programs

    Raises BuildError if the tracer crashes, exceeds the time limit or lacks an operator.
    """
    if instrumented.model_tracer is None:
        raise InputError(
            f"{instrumented.image}: a {instrumented.variant} build has no model_tracer; build"
            " instrumented"
        )
    # Selections take 22 ms to import; a gate that finds nothing changed traces nothing.
    from sizeguard.selection.read import read_selection
    from sizeguard.selection.write import write_selection

    _check_names(programs)
    names = [program.name for program in programs]
    with tempfile.TemporaryDirectory() as temporary:
        # The tracer writes its arguments into the selection, so pass bare names, which are the same
        # on every machine.
        folder = Path(temporary)
        for program in programs:
            shutil.copy(program, folder / program.name)
        options = ["--executed-only"] if executed_only else []
        if features:
            options += ["--build_features", ",".join(features)]
        _run_tracer(instrumented.model_tracer, names, options, folder, timeout)
        selection = read_selection(folder / _TRACED).selection
    write_selection(output, selection)
    return selection


def _run_tracer(
    tracer: Path, names: Sequence[str], options: Sequence[str], folder: Path, timeout: float
) -> None:
    """Run model_tracer in a folder with the programs; it writes the file _TRACED there."""
    command = [str(tracer), "--model_input_path", ",".join(names), "--build_yaml_path", _TRACED]
    done = run_bounded([*command, *options], timeout, cwd=folder, env=run_environment())
    if done.trouble:
        raise BuildError(f"model_tracer on {', '.join(names)}: {done.trouble}")
    if done.code == 2:
        raise InputError(_message(done.said))
    if done.code != 0:
        raise BuildError(_message(done.said) or f"model_tracer exited with {done.code}")


def _message(stderr: str) -> str:
    return stderr.strip().split("\n")[0].removeprefix("error: ")
