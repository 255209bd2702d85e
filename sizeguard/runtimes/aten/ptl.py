"""Read the operators and custom classes that the bytecode of a TorchScript model (.ptl) names."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read
from sizeguard.base.input_files import readable
from sizeguard.models.operator_info import OperatorInfo
from sizeguard.models.pickle import PickleError, Value, read_pickle
from sizeguard.models.zip_entries import ZIP_ERRORS

FLATBUFFER = b"PTMF"
MAXIMUM_PICKLE = 64 << 20  # bytes
MAXIMUM_ENTRIES = 1 << 18

_CLASS = re.compile(r"__torch__\.torch\.classes\.\w+(?:\.\w+)*\.(\w+)")


def read_operators(path: Path) -> OperatorInfo:
    """Read the operators of all methods, as PyTorch's _export_operator_list gives them.

    The file has no dtypes, which depend on the inputs at run time. Raises InputError for a file
    that is damaged, of another kind, or has pickles with content that no model has; nothing in them
    is ever executed.
    """
    pickles = _read_pickles(path)
    name = "bytecode.pkl"
    try:
        bytecode = read_pickle(pickles[name])
        operators, types = _tables(bytecode.value)
        names = set(bytecode.globals)
        for name in ("data.pkl", "constants.pkl"):
            if name in pickles:
                names |= read_pickle(pickles[name]).globals
    except PickleError as error:
        raise InputError(f"{path}: {name}: {error}") from error
    classes = {match[1] for text in names | types for match in _CLASS.finditer(text)}
    return OperatorInfo(
        model=path.name,
        operators={operator: frozenset() for operator in sorted(operators)},
        classes=frozenset(classes),
    )


def _read_pickles(path: Path) -> dict[str, bytes]:
    try:
        with readable(path).open("rb") as file:
            if file.read(8)[4:] == FLATBUFFER:
                raise InputError(
                    f"{path}: a model in FlatBuffer form; save it with _use_flatbuffer=False"
                )
        with zipfile.ZipFile(readable(path)) as archive:
            return {name: archive.read(info) for name, info in _entries(path, archive).items()}
    except OSError as error:
        raise cannot_read(path, error) from error
    except ZIP_ERRORS as error:
        raise InputError(
            f"{path}: not a TorchScript model: {' '.join(str(error).split())[:100]}"
        ) from error


def _entries(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    if len(infos) > MAXIMUM_ENTRIES:
        raise InputError(f"{path}: {len(infos)} entries, too many for a model")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.filename.partition("/")[2]
        if name not in ("bytecode.pkl", "data.pkl", "constants.pkl"):
            continue
        if name in found:
            raise InputError(f"{path}: holds {name} twice")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size > MAXIMUM_PICKLE:
            raise InputError(
                f"{path}: {info.filename!r} is compressed or larger than {MAXIMUM_PICKLE} bytes, "
                f"which PyTorch does not write"
            )
        found[name] = info
    if "bytecode.pkl" not in found:
        raise InputError(
            f"{path}: has no bytecode.pkl; save the model with _save_for_lite_interpreter"
        )
    return found


def _tables(bytecode: Value) -> tuple[set[str], set[str]]:
    """Read the operators and type names of all functions.

    bytecode: a version, then (name, ((key, entries)...), schema) per function.
    """
    operators: set[str] = set()
    types: set[str] = set()
    # Any number of functions may share a table; each table is read once
    seen: set[tuple[str, int]] = set()
    version, functions = _tuple(bytecode, "the bytecode")[:1], _tuple(bytecode, "the bytecode")[1:]
    if not version or not isinstance(version[0], int):
        raise PickleError("the bytecode does not begin with its version")
    for function in functions:
        parts = _tuple(function, "a function")
        if len(parts) < 2 or not isinstance(parts[0], str):
            raise PickleError("a function is not a name and its tables")
        if ("", id(parts[1])) in seen:
            continue
        seen.add(("", id(parts[1])))
        tables = _named_tables(parts[1])
        if "operators" not in tables:
            raise PickleError(f"function {parts[0][:100]!r} has no table of operators")
        for key, table in tables.items():
            if (key, id(table)) not in seen:
                seen.add((key, id(table)))
                if key == "operators":
                    operators.update(_operator(entry) for entry in _tuple(table, key))
                elif key == "types":
                    types.update(entry for entry in _tuple(table, key) if isinstance(entry, str))
    return operators, types


def _named_tables(value: Value) -> dict[str, Value]:
    tables: dict[str, Value] = {}
    for entry in _tuple(value, "the tables of a function"):
        pair = _tuple(entry, "a table")
        if len(pair) != 2 or not isinstance(pair[0], str) or pair[0] in tables:
            raise PickleError("a table is not a name and its entries, or is given twice")
        tables[pair[0]] = pair[1]
    return tables


def _operator(entry: Value) -> str:
    """Read (name, overload) or, since bytecode version 6, (name, overload, number of arguments)."""
    match entry:
        case (str(name), str(overload), *_) if name:
            return f"{name}.{overload}" if overload else name
    raise PickleError("an entry of the operator table is not a name and its overload")


def _tuple(value: Value, what: str) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise PickleError(f"{what} is not a tuple")
    return value
