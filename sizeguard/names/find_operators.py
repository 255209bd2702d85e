"""Find the operators of a registration table that a text means."""

from __future__ import annotations

import re
from collections.abc import Collection

from sizeguard.names.globs import glob_regex


def find_operators(text: str, operators: Collection[str]) -> tuple[str, ...]:
    """Return the operators that a text means: one, all overloads, or a pattern's matches.

    Registered names have all their scopes, so that `::` before them adds nothing.
    """
    text = text.removeprefix("::")
    if text in operators:
        return (text,)
    if "*" in text or "?" in text:
        matches = re.compile(glob_regex(text)).match
        return tuple(name for name in operators if matches(name))
    return tuple(name for name in operators if name.partition(".")[0] == text)
