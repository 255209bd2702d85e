"""Pair the files of two releases whose names have another version.

libonnxruntime.so.1.22.0 and libonnxruntime.so.1.23.0 are one library, which changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sizeguard.diff.side import Values

LEVELS = ("image", "archive")

# Versions with dots, versions of Python, and the hashes that auditwheel puts into names:
# libgomp-a34b3233.so.1
_VERSION = re.compile(
    rb"\d+(?:\.\d+)+|(?<=\.so\.)\d+|(?<=cpython-)\d+|(?<=\bcp)\d+|-[0-9a-f]{8}(?=\.(?:so|dylib)\b)"
)


def paired(both: Sequence[Values]) -> tuple[Values, ...]:
    """Give a new file the hash of the old one that only its version distinguishes.

    Only if there is one of them on each side, and neither side has the other's name.
    """
    old, new = (_places(values) for values in both)
    same = old.keys() & new.keys()
    before, after = (_unique({name: at[name] for name in at.keys() - same}) for at in (old, new))
    hashes = both[1].hashes.copy()
    for key in before.keys() & after.keys():
        hashes[after[key]] = both[0].hashes[before[key]]
    return both[0], replace(both[1], hashes=hashes)


def _places(values: Values) -> dict[bytes, int]:
    return {values.texts.raw(i): i for i in range(len(values.texts))}


def _unique(places: dict[bytes, int]) -> dict[bytes, int]:
    """Return the place of each name without versions that only one name has."""
    found: dict[bytes, list[int]] = {}
    for name, at in places.items():
        found.setdefault(_VERSION.sub(b"", name), []).append(at)
    return {key: at[0] for key, at in found.items() if len(at) == 1}
