"""Find the files of this package that a module consists of, by its import statements."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import sizeguard

PACKAGE = Path(sizeguard.__file__).resolve().parent
# Where statements hold statements: expressions have no imports, and skipping them halves the time.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@functools.cache
def import_closure(*modules: str) -> tuple[Path, ...]:
    """List the files of modules and of all that they import from this package, sorted.

    Imports inside functions count, imports for type checkers do not: they are not run. The __init__
    of each package that contains a module counts, too.
    """
    waiting = list(modules)
    found: set[Path] = set()
    while waiting:
        file = _file_of(waiting.pop())
        if file is None or file in found:
            continue
        found.add(file)
        waiting += _imports(file)
        inits = (folder / "__init__.py" for folder in file.parents if PACKAGE in folder.parents)
        found.update(each for each in (*inits, PACKAGE / "__init__.py") if each.is_file())
    return tuple(sorted(found))


def _file_of(module: str) -> Path | None:
    """Return the file of a module or package, None for another name."""
    path = PACKAGE.parent.joinpath(*module.split("."))
    return next((f for f in (path.with_suffix(".py"), path / "__init__.py") if f.is_file()), None)


def _imports(file: Path) -> list[str]:
    """Return the names of this package that a file imports."""
    names = []
    waiting: list[ast.AST] = [ast.parse(file.read_bytes())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for part in _BLOCKS:
            waiting += getattr(node, part, ())
    return [name for name in names if name.partition(".")[0] == PACKAGE.name]
