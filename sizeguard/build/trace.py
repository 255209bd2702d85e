"""Turns models into the selection that running them needs, by running them on the instrumented build."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sizeguard.build.bounded import run_bounded
from sizeguard.build.driver import build
from sizeguard.build.machine import run_environment
from sizeguard.build.programs import program_of
from sizeguard.build.record import Build
from sizeguard.build.toolchain import find_toolchain
from sizeguard.build.variants import Variant, default_folder
from sizeguard.errors import BuildError, InputError
from sizeguard.selection.yaml_reader import read_selection
from sizeguard.selection.yaml_writer import write_selection

TIMEOUT = 1800  # seconds for all models of one call


def trace(root: Path, models: Sequence[Path], output: Path, *, executed_only: bool) -> None:
    """Write the selection of all models together, with what each asked for."""
    programs = [program_of(model, root / "build" / "programs") for model in models]
    trace_programs(instrumented_build(root), programs, output, executed_only=executed_only)


def instrumented_build(root: Path) -> Build:
    """The build that traces, up to date."""
    toolchain = find_toolchain("gcc", None)
    variant = Variant("instrumented")
    return build(root, variant, toolchain, default_folder(root, variant, toolchain))


def trace_programs(instrumented: Build, programs: Sequence[Path], output: Path, *, executed_only: bool, timeout: float = TIMEOUT) -> None:
    """The same for programs with bundled inputs, on an instrumented build that is there. Raises BuildError if it crashes or never ends."""
    if instrumented.model_tracer is None:
        raise InputError(f"{instrumented.image}: a {instrumented.variant} build has no model_tracer; build instrumented")
    names = [program.name for program in programs]
    if len(set(names)) < len(names):
        raise InputError(f"two models of one name among {', '.join(names)}: a selection says by name who asked for what")
    with tempfile.TemporaryDirectory() as temporary:
        # The tracer writes the paths that it is given into the selection: bare names mean the same on every machine.
        folder = Path(temporary)
        for program in programs:
            shutil.copy(program, folder / program.name)
        command = [str(instrumented.model_tracer), "--model_input_path", ",".join(names), "--build_yaml_path", "traced.yaml"]
        done = run_bounded([*command, *(["--executed-only"] if executed_only else [])], timeout, cwd=folder, env=run_environment())
        if done.trouble:
            raise BuildError(f"model_tracer on {', '.join(names)}: {done.trouble}")
        if done.code == 2:
            raise InputError(_message(done.said))
        if done.code != 0:
            raise BuildError(_message(done.said) or f"model_tracer ended with {done.code}")
        write_selection(output, read_selection(folder / "traced.yaml").selection)


def _message(stderr: str) -> str:
    return stderr.strip().split("\n")[0].removeprefix("error: ")
