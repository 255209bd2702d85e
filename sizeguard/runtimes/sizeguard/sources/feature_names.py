"""Find the names of build features that sources ask for, to build without each of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_ASKED = re.compile(r"^(?!\s*(?:#|//)).*?\bSG_BUILD_FEATURE\((\w+)\)", re.MULTILINE)


def scan_features(sources: Iterable[Path]) -> tuple[str, ...]:
    """List the features, sorted."""
    found: set[str] = set()
    for path in sources:
        found.update(_ASKED.findall(path.read_text(encoding="utf-8", errors="replace")))
    return tuple(sorted(found))
