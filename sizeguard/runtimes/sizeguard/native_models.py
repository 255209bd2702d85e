"""Import, run and trace the models of our runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sizeguard.builds.build_record import Build
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.runtimes.runtime import ModelRun
from sizeguard.runtimes.sizeguard import model_runner
from sizeguard.runtimes.sizeguard.building.programs import (
    case_role,
    cases_beside,
    expected_beside,
    program_of,
)
from sizeguard.runtimes.sizeguard.building.tracing import instrumented_build, trace_programs
from sizeguard.runtimes.sizeguard.native_tree import operator_files
from sizeguard.runtimes.sizeguard.sgp import read_operators


class NativeModels:
    """See runtimes.runtime.Models."""

    def __init__(self, source: Path | None = None) -> None:
        """Use the operators of the folder with native/; None for those in this package."""
        self._source = source

    def prepare(self, model: Path, folder: Path) -> Path:
        """Import a .pt2 with the cases beside it; a .sgp stays unchanged."""
        return program_of(model, folder, self._source)

    def operators(self, program: Path) -> OperatorInfo:
        """Read the operators that a program names."""
        return read_operators(program, self._source)

    def inputs(self, model: Path) -> Sequence[Sequence[Path]]:
        """List case0_input0.npy and so on; a .sgp contains its own inputs."""
        return cases_beside(model) if model.suffix != ".sgp" else []

    def expected(self, model: Path) -> Sequence[Mapping[int, Path]]:
        """Return case0_expected0.npy and so on; nothing for a .sgp, which contains its inputs."""
        return expected_beside(model) if model.suffix != ".sgp" else []

    def case_role(self, name: str) -> str:
        """Distinguish case0_input0.npy and case0_expected0.npy."""
        return case_role(name)

    def library_files(self) -> Sequence[Path]:
        """List the operators.yaml of each library."""
        return operator_files(self._source)

    def case_count(self, program: Path) -> int:
        """Count the bundled inputs of a .sgp."""
        return model_runner.case_count(program)

    def run_inputs(
        self, build: Build, program: Path, case: int, expected: Mapping[int, Path]
    ) -> Mapping[str, object]:
        """Return image, program, expected outputs, the loader's files, emulator and processor."""
        return model_runner.run_inputs(build, program, case, expected)

    def run(
        self,
        build: Build,
        program: Path,
        case: int,
        timeout: float,
        expected: Mapping[int, Path],
    ) -> ModelRun:
        """Run one case with run_program."""
        return model_runner.run_case(build, program, case, timeout, expected)

    def tracer(self, root: Path) -> Build:
        """Return an up-to-date build of the variant `instrumented`."""
        return instrumented_build(self._source or root, root)

    def trace(
        self, build: Build, programs: Sequence[Path], output: Path, *, executed_only: bool
    ) -> None:
        """Run every bundled input of the programs with model_tracer."""
        trace_programs(build, programs, output, executed_only=executed_only)
