"""Entries of a store, and the entries that cleaning removes, as plain data."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class StorePart:
    """Entries or files, and their bytes."""

    count: int
    size: int


@dataclass(frozen=True, slots=True)
class Cleaning:
    """The result of cleaning a store.

    folder:   the store's folder
    held:     all entries before cleaning
    max_size: bytes; max_age: seconds
    place:    where the limits are configured; empty for the defaults
    old:      entries that were unused for longer than max_age
    over:     entries over max_size, the least recently used ones
    lost:     snapshots that no entry refers to
    in_use:   entries that stay because a running process may use them, regardless of the limits
    users:    running processes
    is_dry:   whether nothing was removed
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
        """All entries to remove."""
        parts = (self.old, self.over, self.lost)
        return StorePart(sum(p.count for p in parts), sum(p.size for p in parts))
