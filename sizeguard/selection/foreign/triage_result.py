"""Names in a device's error line, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# States of a name in a selection.
DESELECTED = "deselected"
SELECTED = "selected"


@dataclass(frozen=True, slots=True)
class Named:
    """Something that an error line names.

    kind:  operator, dtype, class or feature
    name:  as this runtime calls it; of a dtype OPERATOR:DTYPE
    state: app → DESELECTED or SELECTED; empty if this runtime has no such name
    near:  the nearest known names, of an unknown one
    """

    kind: str
    name: str
    state: Mapping[str, str]
    near: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Return whether the runtime has it at all."""
        return not self.near and bool(self.state)
