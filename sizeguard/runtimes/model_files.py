"""Read the operators of a model file with the runtime for its suffix."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import is_folder, is_there
from sizeguard.base.input_files import readable
from sizeguard.base.nearest import nearest_file
from sizeguard.builds.image_tools import described
from sizeguard.models.operator_info import OperatorInfo

# Suffix → the module whose read_operators reads it. Imported when a model is read: the reader of
# exported programs takes 60 ms.
READERS = {
    ".sgp": "sizeguard.runtimes.sizeguard.sgp",
    ".pt2": "sizeguard.runtimes.sizeguard.sgp",
    ".pte": "sizeguard.runtimes.executorch.pte",
    ".ptl": "sizeguard.runtimes.aten.ptl",
}


# Models with operators of a runtime that may have sources here.
_OF_SOURCES = frozenset({".sgp", ".pt2"})


def check_traceable(model: Path) -> None:
    """Raise InputError for a file that is missing, or neither a program nor an exported model."""
    if is_folder(model):
        raise InputError(f"{model}: is a folder, not a file")
    if not is_there(readable(model)):
        raise InputError(f"{model}: no such file{nearest_file(model)}")
    if model.suffix not in _OF_SOURCES:
        raise InputError(
            f"{model}: not a program (.sgp) or an exported model (.pt2): {described(model)}"
        )


def read_operators(path: Path, source: Path | None = None) -> OperatorInfo:
    """Read a model file; its suffix decides the kind.

    source: the folder with the runtime's sources; None for the operators in this package

    Raises InputError for a malformed or unknown file.
    """
    suffix = path.suffix.lower()
    module = READERS.get(suffix)
    if module is None:
        hint = "; sizeguard select lint checks a selection" if suffix in (".yaml", ".yml") else ""
        raise InputError(
            f"{path}: not a model of a known kind, which are {', '.join(READERS)}{hint}"
        )
    read = importlib.import_module(module).read_operators
    info = read(path, source) if suffix in _OF_SOURCES else read(path)
    if not isinstance(info, OperatorInfo):
        raise TypeError(f"{module}.read_operators returned no OperatorInfo")
    return info


def read_models(paths: Iterable[Path], source: Path | None = None) -> list[OperatorInfo]:
    """Read model files. source: as for read_operators.

    They are named by file name, which is the same on every machine, or by path if two have the same
    name. A path that is given twice counts once.
    """
    files = list(dict.fromkeys(paths))
    if len({path.name for path in files}) == len(files):
        return [read_operators(path, source) for path in files]
    return [replace(read_operators(path, source), model=path.as_posix()) for path in files]
