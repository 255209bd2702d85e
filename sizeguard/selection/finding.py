"""Findings of lint about a place in a selection file."""

from __future__ import annotations

from enum import Enum

from sizeguard.base.dataclass import dataclass


class Level(Enum):
    """Severity of a finding.

    error:   the entry cannot have the effect that it states
    warning: it keeps more than it seems to, or is badly written
    """

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One result of lint.

    line:  0 for the whole file
    check: a stable name such as unknown-operator
    """

    file: str
    line: int
    level: Level
    check: str
    message: str

    def __str__(self) -> str:
        """Format the finding as compilers do."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.level.value}: {self.message} [{self.check}]"
