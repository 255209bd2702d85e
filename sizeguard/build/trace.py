"""Turns models into the selection that running them needs, by running them on the instrumented build."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sizeguard.build.driver import build
from sizeguard.build.programs import program_of
from sizeguard.build.record import Build
from sizeguard.build.toolchain import find_toolchain
from sizeguard.build.variants import Variant, default_folder
from sizeguard.errors import BuildError, InputError
from sizeguard.selection.yaml_reader import read_selection
from sizeguard.selection.yaml_writer import write_selection


def trace(root: Path, models: Sequence[Path], output: Path, *, executed_only: bool) -> None:
    """Write the selection of all models together, with what each asked for."""
    programs = [program_of(model, root / "build" / "programs") for model in models]
    toolchain = find_toolchain("gcc", None)
    variant = Variant("instrumented")
    instrumented = build(root, variant, toolchain, default_folder(root, variant, toolchain))
    trace_programs(instrumented, programs, output, executed_only=executed_only)


def trace_programs(instrumented: Build, programs: Sequence[Path], output: Path, *, executed_only: bool) -> None:
    """The same for programs with bundled inputs, on an instrumented build that is there."""
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
        done = subprocess.run(
            [*command, *(["--executed-only"] if executed_only else [])], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode == 2:
            raise InputError(_message(done.stderr))
        if done.returncode != 0:
            raise BuildError(_message(done.stderr) or f"model_tracer ended with {done.returncode}")
        write_selection(output, read_selection(folder / "traced.yaml").selection)


def _message(stderr: str) -> str:
    return stderr.strip().split("\n")[0].removeprefix("error: ")
