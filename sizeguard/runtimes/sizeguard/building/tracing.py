"""Trace models on the instrumented build, which gives the selection that running them needs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sizeguard.base.errors import BuildError, InputError
from sizeguard.builds.build_record import Build
from sizeguard.runtimes.sizeguard.building.programs import program_of
from sizeguard.runtimes.sizeguard.building.variants import Variant, default_folder
from sizeguard.toolchains.bounded import run_bounded
from sizeguard.toolchains.host import run_environment
from sizeguard.toolchains.toolchain import find_toolchain

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
) -> None:
    """Write the selection of all models together, with what each asked for.

    source:   the folder that holds native/
    root:     the project, whose build/ holds builds and programs, if that is another
    features: build features to select besides those that the models use
    """
    folder = (root or source) / "build" / "programs"
    programs = [program_of(model, folder, source) for model in models]
    instrumented = instrumented_build(source, root or source)
    trace_programs(instrumented, programs, output, executed_only=executed_only, features=features)


def instrumented_build(source: Path, root: Path) -> Build:
    """Return the build that traces, up to date. source, root: as for trace."""
    toolchain = find_toolchain("gcc", None)
    variant = Variant("instrumented")
    # As in native_sources: who only names models need not import the driver.
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
) -> None:
    """Trace programs with bundled inputs on an instrumented build.

    Raises BuildError if it crashes or never ends.
    """
    if instrumented.model_tracer is None:
        raise InputError(
            f"{instrumented.image}: a {instrumented.variant} build has no model_tracer; build"
            " instrumented"
        )
    from sizeguard.selection.read import read_selection
    from sizeguard.selection.write import write_selection

    names = [program.name for program in programs]
    if len(set(names)) < len(names):
        raise InputError(
            f"two models of one name among {', '.join(names)}: a selection says by name who asked"
            " for what"
        )
    with tempfile.TemporaryDirectory() as temporary:
        # The tracer writes the paths that it is given into the selection: bare names mean the same
        # on every machine.
        folder = Path(temporary)
        for program in programs:
            shutil.copy(program, folder / program.name)
        options = ["--executed-only"] if executed_only else []
        if features:
            options += ["--build_features", ",".join(features)]
        _run_tracer(instrumented.model_tracer, names, options, folder, timeout)
        write_selection(output, read_selection(folder / _TRACED).selection)


def _run_tracer(
    tracer: Path, names: Sequence[str], options: Sequence[str], folder: Path, timeout: float
) -> None:
    """Run model_tracer in a folder with the programs, which gets the file _TRACED."""
    command = [str(tracer), "--model_input_path", ",".join(names), "--build_yaml_path", _TRACED]
    done = run_bounded([*command, *options], timeout, cwd=folder, env=run_environment())
    if done.trouble:
        raise BuildError(f"model_tracer on {', '.join(names)}: {done.trouble}")
    if done.code == 2:
        raise InputError(_message(done.said))
    if done.code != 0:
        raise BuildError(_message(done.said) or f"model_tracer ended with {done.code}")


def _message(stderr: str) -> str:
    return stderr.strip().split("\n")[0].removeprefix("error: ")
