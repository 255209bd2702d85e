"""Outcomes of judged mutants, kept in a file so that a run can be continued."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

KILLED, LEFT = "killed", "left"


class Keyed(Protocol):
    """A mutant: its key, which a change of its function alters, and its place."""

    @property
    def key(self) -> str: ...

    @property
    def place(self) -> str: ...


@dataclass(slots=True)
class Outcomes:
    """Outcomes by the mutants' keys.

    file: gets a line for each judged mutant; those that it has already are not judged again
    minutes: this long after the first one, no mutant is judged
    """

    file: Path = Path(os.devnull)
    minutes: float = 10_000
    known: dict[str, str] = field(init=False)
    _end: float = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.known = outcomes_in(self.file)

    def of(self, mutant: Keyed, judge: Callable[[], str], *, is_last: bool = True) -> str:
        """Return the known outcome, else that of `judge`; LEFT if the time is over.

        is_last: whether all tests have run; before, only KILLED is kept
        """
        if mutant.key in self.known:
            return self.known[mutant.key]
        self._end = self._end or time.monotonic() + 60 * self.minutes
        if time.monotonic() > self._end:
            return LEFT
        outcome = judge()
        if outcome != KILLED and not is_last:
            return outcome
        self.known[mutant.key] = outcome
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"{mutant.key}\t{outcome}\t{mutant.place}\n")
        if outcome != KILLED:
            print(f"{outcome}: {mutant.place}", flush=True)
        return outcome


def outcomes_in(file: Path) -> dict[str, str]:
    """Read the outcomes of earlier runs, by the mutants' keys; none of a missing file."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    rows = [line.split("\t") for line in lines]
    return {row[0]: row[1] for row in rows}
