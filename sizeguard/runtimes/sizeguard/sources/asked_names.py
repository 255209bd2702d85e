"""Find the build features and custom classes that sources look up in a selection."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

# A line that is neither a comment nor a definition of one of the macros.
_LINE = r"^(?!\s*(?://|#\s*define\s+SG_(?:BUILD_FEATURE|SELECTIVE_CLASS)\b)).*?\b"
_FEATURE = re.compile(_LINE + r"SG_BUILD_FEATURE\((\w+)\)", re.MULTILINE)
_CLASS = re.compile(_LINE + r'SG_SELECTIVE_CLASS\(\s*"([^"\n]+)"\s*\)', re.MULTILINE)


def scan_features(sources: Iterable[Path]) -> tuple[str, ...]:
    """List the features, sorted."""
    return _scan(sources, _FEATURE)


def scan_classes(sources: Iterable[Path]) -> tuple[str, ...]:
    """List the custom classes, sorted."""
    return _scan(sources, _CLASS)


def _scan(sources: Iterable[Path], asked: re.Pattern[str]) -> tuple[str, ...]:
    found: set[str] = set()
    for path in sources:
        found.update(asked.findall(path.read_text(encoding="utf-8", errors="replace")))
    return tuple(sorted(found))
