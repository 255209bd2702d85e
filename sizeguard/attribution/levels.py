"""The levels that rows of bytes are grouped by.

It is separate from the analyses, because help texts and completion need the levels and numpy takes
0.2 s to import.
"""

from __future__ import annotations

from sizeguard.base.errors import InputError

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
# Other names of levels. Results have the names above.
OTHER_NAMES = {"crate": "package"}  # the word for it in Rust
# Levels that follow from others. Snapshots store sources alone, if debug information has them.
DERIVED = frozenset({"archive", "source", "directory", "namespace", "package", "owner"})

SORTS = ("load", "file", "ram", "count", "name")  # orders of a report's rows
METRICS = ("load", "file", "ram")  # columns of bytes that a diff compares


def unknown_level(level: str) -> InputError:
    """Make the error for an unknown level; it suggests the nearest one."""
    from sizeguard.base.nearest import did_you_mean  # 3 ms, which correct command lines save

    return InputError(f"unknown level '{level}'{did_you_mean(level, LEVELS)}")
