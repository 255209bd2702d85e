"""Turns model files into programs with their bundled inputs, once for each content."""

from __future__ import annotations

import re
from pathlib import Path

from sizeguard.build.fingerprint import files_hash
from sizeguard.errors import InputError
from sizeguard.files import write_atomic

_CASE = re.compile(r"case(\d+)_input(\d+)\.npy")


def program_name(model: Path) -> str:
    """mobilenet_v2 of mobilenet_v2/model.pt2 and of mobilenet_v2.sgp, mobilenet_v2_core of mobilenet_v2/model_core.pt2."""
    stem = model.stem
    if stem == "model" or stem.startswith("model_"):
        return model.resolve().parent.name + stem.removeprefix("model")
    return stem


def cases_beside(model: Path) -> list[list[Path]]:
    """The inputs that lie beside a model as case0_input0.npy, case0_input1.npy, case1_input0.npy …"""
    found: dict[int, dict[int, Path]] = {}
    for path in model.parent.glob("case*_input*.npy"):
        match = _CASE.fullmatch(path.name)
        if match:
            found.setdefault(int(match[1]), {})[int(match[2])] = path
    return [[found[case][i] for i in sorted(found[case])] for case in sorted(found)]


def program_of(model: Path, folder: Path) -> Path:
    """A .sgp as it is; a .pt2 imported into the folder with the cases beside it, unless an equal one is there."""
    if model.suffix == ".sgp":
        if not model.is_file():
            raise InputError(f"{model}: no such file")
        return model
    if not model.is_file():
        raise InputError(f"{model}: no such model")
    cases = cases_beside(model)
    program = folder / f"{program_name(model)}.sgp"
    stamp = folder / f"{program_name(model)}.stamp"
    key = _key(model, cases)
    if program.is_file() and stamp.is_file() and stamp.read_text() == key:
        return program

    from sizeguard.model_import.importer import default_library, import_model
    from sizeguard.model_import.program_file import write_program

    imported = import_model(model, default_library(), program_name(model), cases)
    folder.mkdir(parents=True, exist_ok=True)
    write_program(imported.program, program)
    write_atomic(stamp, key)
    return program


def _key(model: Path, cases: list[list[Path]]) -> str:
    """What the program is made from: the model, its inputs, the importer, the operators."""
    package = Path(__file__).resolve().parents[1]
    importer = [*(package / "model_import").glob("*.py"), package / "schema.py", package / "operator_library.py"]
    lists = sorted((package.parent / "native").glob("*/operators.yaml"))
    inputs = [model.resolve(), *(path.resolve() for case in cases for path in case)]
    return f"{files_hash(package.parent, [*importer, *lists])} {files_hash(model.resolve().parent, inputs)}"
