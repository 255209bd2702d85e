"""List names in a message."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str], most: int = 4) -> str:
    """Join the first names, and say how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
