"""The levels that rows of bytes are grouped by.

It is separate from the analyses, because help texts and completion need the levels and numpy takes
0.2 s to import.
"""

from __future__ import annotations

from collections.abc import Sequence

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
# Words of other tools for levels, lower case, for suggestions. bloaty's are in its plural.
_MEANT = {
    "function": ("symbol",),
    "name": ("symbol",),
    "inputfile": ("object",),
    "armember": ("object",),
    "file": ("object", "source"),
    "compileunit": ("source",),
    "library": ("archive",),
    "folder": ("directory",),
    "module": ("namespace",),
    "type": ("dtype",),
    "op": ("operator",),
    "memory": ("region",),
}
# Levels that follow from others. Snapshots store sources alone, if debug information has them.
DERIVED = frozenset({"archive", "source", "directory", "namespace", "package", "owner"})

SORTS = ("load", "file", "ram", "count", "name")  # orders of a report's rows
METRICS = ("load", "file", "ram")  # columns of bytes that a diff compares


def unknown_level(level: str) -> InputError:
    """Make the error for an unknown level; it suggests the nearest one."""
    return InputError(f"unknown level '{level}'{level_hint(level)}")


def level_hint(text: str, known: Sequence[str] = LEVELS) -> str:
    """End a message on an unknown level: suggest the one that is meant, or the nearest."""
    from sizeguard.base.nearest import did_you_mean  # 3 ms, which correct command lines save

    word = text.casefold()
    meant = _MEANT.get(word) or _MEANT.get(word.removesuffix("s"))
    named = " or ".join(f"'{level}'" for level in meant or ())
    return f"; did you mean {named}?" if named else did_you_mean(text, known)
