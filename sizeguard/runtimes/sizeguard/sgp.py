"""Read the operators that a program or an exported program names, with their dtypes."""

from __future__ import annotations

from pathlib import Path

from sizeguard.models.operator_info import OperatorInfo


def read_operators(path: Path, source: Path | None = None) -> OperatorInfo:
    """Read a .sgp or a .pt2. Raises InputError for a malformed file.

    source: the folder with native/; None for the operators in this package
    """
    is_program = path.suffix.lower() == ".sgp"
    return _of_program(path, source) if is_program else _of_exported_program(path, source)


def _of_program(path: Path, source: Path | None) -> OperatorInfo:
    from sizeguard.operators.library import read_operator_libraries
    from sizeguard.runtimes.sizeguard.native_tree import operator_files
    from sizeguard.runtimes.sizeguard.program.program import Tag
    from sizeguard.runtimes.sizeguard.program.program_file import read_program
    from sizeguard.runtimes.sizeguard.program.reached_dtypes import operator_dtypes

    program = read_program(path)
    classes = frozenset(value.text for value in program.values if value.tag == Tag.OBJECT)
    library = read_operator_libraries(operator_files(source))
    return OperatorInfo(path.name, operator_dtypes(program, library), classes)


def _of_exported_program(path: Path, source: Path | None) -> OperatorInfo:
    from sizeguard.models.pt2_reader import read_exported_program
    from sizeguard.operators.library import read_operator_libraries
    from sizeguard.runtimes.sizeguard.importing.importer import lower
    from sizeguard.runtimes.sizeguard.native_tree import operator_files

    # Operators that the runtime lacks are included; lint reports them in selections.
    library = read_operator_libraries(operator_files(source))
    lowering = lower(read_exported_program(path, with_weights=False), library, path.stem)
    operators = {name: frozenset(dtypes) for name, dtypes in sorted(lowering.dtypes.items())}
    return OperatorInfo(path.name, operators, frozenset())
