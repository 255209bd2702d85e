"""Import a .pt2 file and input arrays as a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.models.exported_program import ExportedProgram
from sizeguard.models.pt2_reader import read_exported_program
from sizeguard.operators.library import Operator, read_operator_libraries
from sizeguard.runtimes.sizeguard.importing.builder import ProgramBuilder
from sizeguard.runtimes.sizeguard.importing.bundled_cases import add_cases
from sizeguard.runtimes.sizeguard.importing.lower import GraphLowering, Lowering
from sizeguard.runtimes.sizeguard.importing.lower_inputs import InputLowering
from sizeguard.runtimes.sizeguard.importing.prepack import RUN, prepack_linear
from sizeguard.runtimes.sizeguard.native_tree import OPERATOR_FILES
from sizeguard.runtimes.sizeguard.program.program import Program, Tag
from sizeguard.selection.op_deps import OpDeps


@dataclass(frozen=True, slots=True)
class Imported:
    """A program, and lines with warnings for the user."""

    program: Program
    warnings: tuple[str, ...]


def default_library(files: Sequence[Path] = OPERATOR_FILES) -> dict[str, Operator]:
    """Read the operators that models may name; by default those in this package."""
    return read_operator_libraries(files)


def import_model(
    path: Path,
    library: Mapping[str, Operator],
    name: str,
    cases: Sequence[Sequence[Path]] = (),
    prepack: bool = False,
    deps: OpDeps | None = None,
) -> Imported:
    """Import a .pt2 file as a program of that name.

    cases: for each bundled case, the .npy files, one for each input of the model.
    deps: calls between operators; with it, the program lists the callees of the model's operators.

    Raises InputError for a malformed file, for operators that the library lacks, and for arrays
    that do not fit.
    """
    exported = read_exported_program(path)
    if prepack and RUN not in library:
        raise InputError(
            f"{path}: --prepack needs the operator {RUN}, which the libraries lack; add its"
            " operators.yaml"
        )
    lowering = lower(exported, library, name)
    lowering.check_supported()
    if prepack:
        prepack_linear(lowering.builder)
    program = lowering.builder.finish()
    if deps is not None:
        program = replace(program, callees=_callees(program, deps))
    if cases:
        program = add_cases(program, cases)
    return Imported(program, tuple(f"{path}: {warning}" for warning in lowering.warnings))


def _callees(program: Program, deps: OpDeps) -> tuple[str, ...]:
    classes = (value.text for value in program.values if value.tag == Tag.OBJECT)
    roots = {*program.operators, *classes}
    return tuple(sorted(set(deps.callers(roots)) - roots))


def lower(exported: ExportedProgram, library: Mapping[str, Operator], name: str) -> Lowering:
    """Lower a model. Operators that the library lacks are recorded, not an error."""
    if len(exported.graph.inputs) != len(exported.inputs) or len(exported.graph.outputs) != len(
        exported.outputs
    ):
        raise InputError(
            f"{exported.path}: the signature and the graph differ in their inputs or outputs"
        )
    lowering = Lowering(exported, library, ProgramBuilder(name))
    main = GraphLowering(lowering, exported.graph)
    InputLowering(lowering, main).lower()
    outputs = main.lower()
    if len(outputs) != len(exported.outputs):
        raise InputError(f"{exported.path}: an output is a list")
    lowering.builder.outputs = [
        ref for ref, spec in zip(outputs, exported.outputs, strict=True) if spec.kind == "user"
    ]
    return lowering
