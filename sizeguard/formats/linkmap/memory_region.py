"""Memory regions of a link, named in its script: FLASH, RAM."""

from __future__ import annotations

from sizeguard.base.dataclass import dataclass

# Sizes that mean the whole address space; shares of them are meaningless.
UNBOUNDED = (0xFFFFFFFF, (1 << 64) - 1)


@dataclass(frozen=True, slots=True)
class MemoryRegion:
    """A region: its first address, and its size in bytes."""

    name: str
    origin: int
    length: int

    @property
    def is_bounded(self) -> bool:
        """Return whether the region has an end that a link could reach."""
        return self.length > 0 and self.length not in UNBOUNDED
