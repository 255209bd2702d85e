"""Entries of a store, and those that cleaning removes, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StorePart:
    """Entries or files, and their bytes."""

    count: int
    size: int


@dataclass(frozen=True, slots=True)
class Cleaning:
    """The cleaning of a store.

    folder:   of the store
    held:     all entries before it
    max_size: bytes; max_age: seconds
    place:    where the limits stand; empty for the usual ones
    old:      entries that nobody used for longer than max_age
    over:     entries over max_size, those used longest ago
    lost:     snapshots that belong to no entry
    in_use:   entries that stay because a running process may use them, whatever the limits say
    users:    running processes
    is_dry:   nothing was removed
    """

    folder: str
    held: StorePart
    max_size: int
    max_age: int
    place: str
    old: StorePart
    over: StorePart
    lost: StorePart
    in_use: StorePart
    users: int
    is_dry: bool

    @property
    def goes(self) -> StorePart:
        """All that goes."""
        parts = (self.old, self.over, self.lost)
        return StorePart(sum(p.count for p in parts), sum(p.size for p in parts))
