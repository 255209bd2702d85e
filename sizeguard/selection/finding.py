"""Turns a place in a selection file and what is wrong there into one line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """error: the entry cannot do what it says. warning: it keeps more than it seems to say, or says it badly."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of lint. check is a stable name (unknown-operator); line 0 stands for the whole file."""

    file: str
    line: int
    level: Level
    check: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.level.value}: {self.message} [{self.check}]"
