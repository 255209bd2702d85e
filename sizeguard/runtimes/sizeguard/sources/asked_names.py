"""Find the build features and custom classes that sources look up in a selection."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from sizeguard.runtimes.sizeguard.sources.tags import without_noise

# The macros' own definitions, whose parameter is not a name
_DEFINITION = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+SG_(?:BUILD_FEATURE|SELECTIVE_CLASS)\b(?:[^\n]*\\\n)*[^\n]*",
    re.MULTILINE,
)
_FEATURE = re.compile(r"\bSG_BUILD_FEATURE\s*\(\s*(\w+)\s*\)")
_CLASS = re.compile(r'\bSG_SELECTIVE_CLASS\s*\(\s*((?:"[^"\n]*"\s*)+)\)')
_LITERAL = re.compile(r'"([^"\n]*)"')


def scan_features(sources: Iterable[Path]) -> tuple[str, ...]:
    """List the features, sorted."""
    return _scan(sources, _FEATURE, keeps_literals=False)


def scan_classes(sources: Iterable[Path]) -> tuple[str, ...]:
    """List the custom classes, sorted."""
    found = _scan(sources, _CLASS, keeps_literals=True)
    return tuple(sorted({"".join(_LITERAL.findall(literals)) for literals in found}))


def _scan(
    sources: Iterable[Path], asked: re.Pattern[str], *, keeps_literals: bool
) -> tuple[str, ...]:
    found: set[str] = set()
    for path in sources:
        text = path.read_text(encoding="utf-8", errors="replace")
        if "SG_BUILD_FEATURE" in text or "SG_SELECTIVE_CLASS" in text:
            code = without_noise(text, keeps_literals=keeps_literals)
            found.update(asked.findall(_DEFINITION.sub("", code)))
    return tuple(sorted(found))
