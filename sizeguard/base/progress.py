"""Progress of long work: one line on stderr with the running step and how far it is."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

WIDTH = 16


class Progress:
    """A line that is redrawn on a terminal, and printed once at the end elsewhere.

    Use it as a context.
    """

    def __init__(self, what: str, detail: str = "") -> None:
        """Describe the work: its name and a detail, such as the folder that is built."""
        self.label = f"{what:<22} {detail:<30}"
        self.start = time.monotonic()
        self.done = 0
        self.total = 0
        self.is_terminal = sys.stderr.isatty()
        self.shown = -1.0

    def __enter__(self) -> Self:
        """Draw the empty line."""
        self._draw("")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Replace the line by the result, the number of steps and the time."""
        if self.is_terminal:
            sys.stderr.write("\r\x1b[K")
        ending = (
            "failed"
            if kind is not None
            else f"{self.done}/{self.total}"
            if self.done
            else "no change"
        )
        print(
            f"{self.label} {ending:>9} {clock(time.monotonic() - self.start):>6}",
            file=sys.stderr,
            flush=True,
        )

    def step(self, done: int, total: int, now: str = "") -> None:
        """Redraw the line: `done` of `total` steps, `now` running."""
        self.done, self.total = done, total
        self._draw(now)

    def _draw(self, now: str) -> None:
        elapsed = time.monotonic() - self.start
        if not self.is_terminal or elapsed - self.shown < 0.1:
            return
        self.shown = elapsed
        filled = WIDTH * self.done // self.total if self.total else 0
        left = (
            f" ~{clock(elapsed / self.done * (self.total - self.done))} left"
            if self.done >= 5 and elapsed > 2
            else ""
        )
        line = (
            f"{self.label} {'█' * filled}{'░' * (WIDTH - filled)} {self.done}/{self.total}{left} "
            f" {now}"
        )
        sys.stderr.write(f"\r\x1b[K{line[:100]}")
        sys.stderr.flush()


def clock(seconds: float) -> str:
    """Format minutes and seconds: 1:05."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
