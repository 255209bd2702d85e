"""Find large functions that no comment explains. Part of ci/layout.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

LONGEST = 40  # lines, from `def` to the end
MOST_PARAMETERS = 6  # without self

# Beginnings of the comments above a function that say why it is large.
LONG = f"# More than {LONGEST} lines: "
WIDE = f"# More than {MOST_PARAMETERS} parameters: "

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def large_functions(path: Path, tree: ast.AST) -> Iterator[str]:
    """Yield a line for each function of a file that is large, and has no comment that says why."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for node in ast.walk(tree):
        if not isinstance(node, _Function):
            continue
        comments = _comments_above(node, lines)
        place = f"{path}:{node.lineno}: {node.name}"
        length, parameters = _length(node), _parameters(node)
        if length > LONGEST and not _has(comments, LONG):
            yield f"{place} has {length} lines; split it, or say above it: {LONG}why"
        if parameters > MOST_PARAMETERS and not _has(comments, WIDE):
            yield f"{place} has {parameters} parameters; join some, or say above it: {WIDE}why"


def _has(comments: Sequence[str], beginning: str) -> bool:
    return any(line.startswith(beginning) and line != beginning.strip() for line in comments)


def _is_command(node: _Function) -> bool:
    """Return whether click calls a function: its options and its help text are for users."""
    return any(re.search(r"\b(command|group)\b", ast.unparse(each)) for each in node.decorator_list)


def _length(node: _Function) -> int:
    """Count the lines of a function. The help text of a command does not count."""
    is_command = _is_command(node) and ast.get_docstring(node) is not None and len(node.body) > 1
    first = node.body[1].lineno if is_command else node.lineno
    return (node.end_lineno or first) - first + 1


def _parameters(node: _Function) -> int:
    """Count the parameters of a function; a command has none but options."""
    if _is_command(node):
        return 0
    given = node.args
    plain = [each.arg for each in (*given.posonlyargs, *given.args)]
    return len(plain) - (plain[:1] in (["self"], ["cls"])) + len(given.kwonlyargs)


def _comments_above(node: _Function, lines: Sequence[str]) -> list[str]:
    """Return the comment lines right above a function, and right above its decorators."""
    found = []
    for end in {node.lineno, *(each.lineno for each in node.decorator_list[:1])}:
        at = end - 2
        while at >= 0 and lines[at].lstrip().startswith("#"):
            found.append(lines[at].strip())
            at -= 1
    return found
