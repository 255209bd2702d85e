"""Find the messages that only builds with the feature verbose_errors contain."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from sizeguard.runtimes.sizeguard.sources.tags import source_files

# Both functions drop their text in builds without the feature (native/runtime/context.h,
# verify.cpp).
_MESSAGE = re.compile(r'\b(?:invalid|detail)\(((?:\s*"(?:[^"\\\n]|\\.)*")+)')
_LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def scan_verbose_texts(directories: Iterable[Path]) -> tuple[str, ...]:
    """List the strings, as the compiler sees them, sorted."""
    found: set[str] = set()
    for path in source_files(directories):
        for match in _MESSAGE.finditer(path.read_text(encoding="utf-8", errors="replace")):
            found.add("".join(_value(literal[0]) for literal in _LITERAL.finditer(match[1])))
    return tuple(sorted(found))


def _value(literal: str) -> str:
    """Return the value of a C++ literal. The escapes in messages are the same as Python's."""
    try:
        return str(ast.literal_eval(literal))
    except (SyntaxError, ValueError):
        return literal[1:-1]
