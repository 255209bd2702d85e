"""Turns a model file of any kind into the operators that it names, with the dtypes that they are seen with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sizeguard.errors import InputError

SUFFIXES = (".sgp", ".pt2", ".pte", ".ptl")


@dataclass(frozen=True, slots=True)
class OperatorInfo:
    """What a model names, on any path.

    model:       the file's name
    operators:   root operator, with overload → dtypes (PyTorch's names) of the tensors that it takes and returns
    classes:     custom classes, without namespace
    kernel_keys: operator → ExecuTorch's kernel keys; only ExecuTorch's files have them
    """

    model: str
    operators: dict[str, frozenset[str]]
    classes: frozenset[str]
    kernel_keys: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_operators(path: Path) -> OperatorInfo:
    """Read a model file; its suffix says which kind it is. Raises InputError for a malformed or unknown one."""
    suffix = path.suffix.lower()
    if suffix == ".sgp":
        return _of_program(path)
    if suffix == ".pt2":
        return _of_exported_program(path)
    if suffix == ".pte":
        from sizeguard.model_import import pte

        return pte.read_operators(path)
    if suffix == ".ptl":
        from sizeguard.model_import import ptl

        return ptl.read_operators(path)
    raise InputError(f"{path}: not a model that can be read; its name ends in none of {', '.join(SUFFIXES)}")


def _of_program(path: Path) -> OperatorInfo:
    from sizeguard.model_import.importer import default_library
    from sizeguard.model_import.program import Tag
    from sizeguard.model_import.program_dtypes import operator_dtypes
    from sizeguard.model_import.program_file import read_program

    program = read_program(path)
    classes = frozenset(value.text for value in program.values if value.tag == Tag.OBJECT)
    return OperatorInfo(path.name, operator_dtypes(program, default_library()), classes)


def _of_exported_program(path: Path) -> OperatorInfo:
    from sizeguard.model_import.exported_program import read_exported_program
    from sizeguard.model_import.importer import default_library, lower

    # Operators that the runtime lacks are named too: whoever selects them is told by lint.
    lowering = lower(read_exported_program(path, with_weights=False), default_library(), path.stem)
    operators = {name: frozenset(dtypes) for name, dtypes in sorted(lowering.dtypes.items())}
    return OperatorInfo(path.name, operators, frozenset())
