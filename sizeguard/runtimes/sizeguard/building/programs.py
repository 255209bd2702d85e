"""Import model files as programs with bundled inputs, once for each content."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import write_atomic
from sizeguard.base.fingerprint import PACKAGE, files_hash, files_key
from sizeguard.runtimes.model_files import check_traceable
from sizeguard.runtimes.sizeguard.native_tree import op_deps, op_deps_file, operator_files

_CASE = re.compile(r"case(\d+)_input(\d+)\.npy")
_EXPECTED = re.compile(r"case(\d+)_expected(\d+)\.npy")


def program_name(model: Path) -> str:
    """Name the program of a model.

    mobilenet_v2/model.pt2 and mobilenet_v2.sgp give mobilenet_v2; mobilenet_v2/model_core.pt2 gives
    mobilenet_v2_core.
    """
    stem = model.stem
    if stem == "model" or stem.startswith("model_"):
        return model.resolve().parent.name + stem.removeprefix("model")
    return stem


def case_role(name: str) -> str:
    """Return what a file next to a model is: an input, an expected output, or empty for neither."""
    if _CASE.fullmatch(name):
        return "input"
    return "expected output" if _EXPECTED.fullmatch(name) else ""


def cases_beside(model: Path) -> list[list[Path]]:
    """List the inputs next to a model: case0_input0.npy, case0_input1.npy and so on.

    Raises InputError for a case that lacks an input before its last one.
    """
    found = _numbered(model, _CASE)
    for case, inputs in found.items():
        lacking = next((number for number in range(len(inputs)) if number not in inputs), None)
        if lacking is not None:
            raise InputError(f"{inputs[max(inputs)]}: there is no case{case}_input{lacking}.npy")
    return [[found[case][i] for i in sorted(found[case])] for case in sorted(found)]


def expected_beside(model: Path) -> list[dict[int, Path]]:
    """Return the files of each case's expected outputs, by the number of the output.

    Raises InputError for expected outputs of a case without inputs: nothing would compare them.
    """
    cases, found = sorted(_numbered(model, _CASE)), _numbered(model, _EXPECTED)
    for case in found:
        if case not in cases:
            file = min(found[case].values())
            raise InputError(f"{file}: is never compared: there is no case{case}_input0.npy")
    return [found.get(case, {}) for case in cases]


def _numbered(model: Path, pattern: re.Pattern[str]) -> dict[int, dict[int, Path]]:
    """Find the files next to a model by case and number.

    Raises InputError for two of one number, such as case0_input0.npy and case00_input0.npy.
    """
    found: dict[int, dict[int, Path]] = {}
    for path in sorted(model.parent.glob("case*.npy")):
        match = pattern.fullmatch(path.name)
        if match:
            other = found.setdefault(int(match[1]), {}).setdefault(int(match[2]), path)
            if other != path:
                raise InputError(f"{path}: has the number of {other.name}; keep one of them")
    return found


def program_of(model: Path, folder: Path, source: Path | None = None) -> Path:
    """Return the program of a model: a .sgp itself, or a .pt2 imported with the cases beside it.

    An equal program in the folder is not imported again.

    source: the folder with native/, whose operators the model may name; None for the operators in
            this package
    """
    check_traceable(model)
    if model.suffix == ".sgp":
        return model
    cases = cases_beside(model)
    program = folder / f"{program_name(model)}.sgp"
    stamp = folder / f"{program_name(model)}.stamp"
    libraries = operator_files(source)
    deps = op_deps_file(source)
    key = _key(model, cases, [*libraries, *([deps] if deps.is_file() else [])])
    if program.is_file() and stamp.is_file() and stamp.read_text() == key:
        return program

    from sizeguard.runtimes.sizeguard.importing.importer import default_library, import_model
    from sizeguard.runtimes.sizeguard.program.program_file import write_program

    imported = import_model(
        model, default_library(libraries), program_name(model), cases, deps=op_deps(source)
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_program(imported.program, program)
    write_atomic(stamp, key)
    return program


def _key(model: Path, cases: list[list[Path]], libraries: Sequence[Path]) -> str:
    """Hash everything that the program depends on: model, inputs, importer and operators."""
    # By their names beside the model, which say the case: links may lead anywhere.
    inputs = [model, *(path for case in cases for path in case)]
    return f"{_importer_hash()} {' '.join(files_key(libraries))} {files_hash(model.parent, inputs)}"


@functools.cache
def _importer_hash() -> str:
    """Hash the code of this package that imports models; takes 3 ms."""
    rooms = ("models", "operators", "runtimes/sizeguard/importing", "runtimes/sizeguard/program")
    files = [path for room in rooms for path in (PACKAGE / room).glob("*.py")]
    return files_hash(PACKAGE, files)
