"""The levels that rows of bytes are grouped by.

Apart from the analyses, whose numpy takes 0.2 s to import: help texts and the completion of
command lines name the levels, too.
"""

from __future__ import annotations

LEVELS = (
    "operator",
    "kernel",
    "dtype",
    "component",
    "kind",
    "section",
    "segment",
    "object",
    "symbol",
    "analyzer",
    "image",
    "archive",
    "source",
    "directory",
    "namespace",
    "package",
    "owner",
    "isa",
    "region",
)
# Those that follow from other levels; snapshots do not store them.
DERIVED = frozenset({"archive", "source", "directory", "namespace", "package", "owner"})
