"""Names in a device's error line, as data."""

from __future__ import annotations

from collections.abc import Mapping

from sizeguard.base.dataclass import dataclass

# States of a name in a selection.
DESELECTED = "deselected"
SELECTED = "selected"


@dataclass(frozen=True, slots=True)
class Named:
    """A name in an error line.

    kind:  operator, dtype, class or feature
    name:  in this runtime's names; OPERATOR:DTYPE for a dtype
    state: app → DESELECTED or SELECTED; empty if this runtime has no such name
    near:  the nearest known names, if the name is unknown
    """

    kind: str
    name: str
    state: Mapping[str, str]
    near: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Return whether the runtime has the name."""
        return not self.near and bool(self.state)
