"""Find the files of this package that a module imports, directly or indirectly."""

from __future__ import annotations

import ast
import functools
import os
import re
from pathlib import Path

from sizeguard.base.fingerprint import PACKAGE

# Fields with nested statements. Expressions contain no imports, and skipping them halves the time.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
Import = tuple[str, list[str]]  # a module, and the names that are imported from it
_STATEMENT = re.compile(
    rb"^[ \t]*(?:import[ \t]+([^\n(]+)"
    rb"|from[ \t]+([\w.]+)[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\n(]+)))",
    re.MULTILINE,
)
_WITHIN_A_LINE = re.compile(
    rb"[:;][ \t]*(?:import[ \t]+[\w.]+|from[ \t]+[\w.]+[ \t]+import\b)"
    rb"|^[ \t]*(?:import|from)\b[^\n]*\\\r?$",
    re.MULTILINE,
)
_FOR_CHECKERS = re.compile(
    rb"^([ \t]*)if (?:typing\.)?TYPE_CHECKING:[^\n]*\n(?:(?:\1[ \t]+[^\n]*|[ \t]*)\n)*",
    re.MULTILINE,
)
_COMMENT = re.compile(rb"#[^\n]*")


@functools.cache
def import_closure(*modules: str) -> tuple[Path, ...]:
    """List the files of modules and of everything they import from this package, sorted.

    Imports inside functions count; imports for type checkers do not, since they never run. The
    __init__ of each package that contains a module counts, too.
    """
    waiting = list(modules)
    asked: set[str] = set()
    found: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module in asked:
            continue
        asked.add(module)
        file = _file_of(module)
        if file is None or file in found:
            continue
        found.add(file)
        waiting += _imports(file)
        waiting.append(module.rpartition(".")[0])  # its package, and so on to the first
    return tuple(sorted(map(Path, found)))


# Strings: a Path for each of the 1,000 names that the generator's files import took 30 ms.
def _file_of(module: str) -> str | None:
    """Return the file of a module or package; None for other names."""
    path = f"{PACKAGE.parent}/{module.replace('.', '/')}"
    return next((f for f in (f"{path}.py", f"{path}/__init__.py") if _is_file(f)), None)


def _is_file(path: str) -> bool:
    return os.path.isfile(path)  # noqa: PTH113


def _imports(path: str) -> list[str]:
    """Return the names that a file imports from this package."""
    source = Path(path).read_bytes()
    found = _scanned(source)
    names = []
    for module, asked in found if found is not None else _parsed(source):
        names += [module, *(f"{module}.{name}" for name in asked)]
    return [name for name in names if name.partition(".")[0] == PACKAGE.name]


def _scanned(source: bytes) -> list[Import] | None:
    """Read the imports that begin a line; None if there may be others.

    Parsing takes six times as long. Text that looks like an import counts as one, since an
    additional file does no harm.
    """
    if _WITHIN_A_LINE.search(source):
        return None
    found: list[Import] = []
    for match in _STATEMENT.finditer(_FOR_CHECKERS.sub(b"", source)):
        modules, module, *names = (_words(group) for group in match.groups())
        found += [(each, []) for each in modules]
        found += [(each, [*names[0], *names[1]]) for each in module]
    return found


def _words(names: bytes | None) -> list[str]:
    """Split `a, b as c, # why` into its names."""
    parts = _COMMENT.sub(b"", names or b"").decode().split(",")
    return [part.split()[0] for part in parts if part.strip()]


def _parsed(source: bytes) -> list[Import]:
    """Read all imports from the syntax tree."""
    found: list[Import] = []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append((node.module, [alias.name for alias in node.names]))
        for part in _BLOCKS:
            waiting += getattr(node, part, ())
    return found
