"""Known names that are most like a misspelt one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_CUTOFF = 0.6


def nearest_names(text: str, known: Iterable[str], count: int = 1) -> tuple[str, ...]:
    """List the known names that are most like a text, the nearest first; none if none is near.

    Case does not count. If the whole text is like no name, its last part is compared: a class of
    another runtime may stand in other namespaces.
    """
    folded: dict[str, list[str]] = {}
    for name in sorted(known):
        folded.setdefault(name.casefold(), []).append(name)
    for part in dict.fromkeys((text, text.rpartition("::")[2].rpartition(".")[2])):
        near = difflib.get_close_matches(part.casefold(), folded, n=count, cutoff=_CUTOFF)
        if near:
            return tuple(name for each in near for name in folded[each])[:count]
    return ()
