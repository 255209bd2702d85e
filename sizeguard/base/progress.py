"""Show progress of long work on stderr: a bar on a terminal, otherwise lines."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

WIDTH = 16  # columns of the bar
_LEFT = 53  # columns of the name and the detail of finished work
_NO_WIDTH = 1 << 20  # columns of a file
_TICK = 0.1  # seconds between two redraws
PERIOD = 60.0  # seconds of silence before a line says that work goes on
_shown: list[Bar] = []  # the bar that is drawn now, if any: a terminal has room for one


class Progress:
    """A progress bar that leaves one line when the work ends; without a terminal, only this line.

    Use it as a context manager. A bar inside another is not drawn.
    """

    def __init__(self, what: str, detail: str = "") -> None:
        """Describe the work by its name and a detail, such as the folder that is built."""
        self.what = what
        self.detail = detail
        self.start = time.monotonic()
        self.done = 0
        self.total = 0
        self.bar: Bar | None = None
        self.drawn = -1.0
        self.pulse = Pulse(f"{what} {detail}".strip())

    def __enter__(self) -> Self:
        """Draw the empty bar."""
        if sys.stderr.isatty() and not _shown:
            self.bar = _bar()
            self.bar.add_task(self.what, total=None, now=self.detail)
            self.bar.start()
            self.bar.refresh()
            _shown.append(self.bar)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Replace the bar with the result, the number of steps and the time."""
        if self.bar is not None:
            self.bar.stop()
            _shown.remove(self.bar)
        ending = (
            "interrupted"
            if kind is not None and issubclass(kind, KeyboardInterrupt)
            else "failed"
            if kind is not None
            else f"{self.done}/{self.total}"
            if self.done
            else "no change"
        )
        shown = self.bar or (_shown[0] if _shown else None)
        announce(self._line(ending, shown.console.width if shown is not None else _NO_WIDTH))

    def _line(self, ending: str, width: int) -> str:
        """Write the line that is left; a narrow terminal has less space, and a shorter detail."""
        time_ = clock(time.monotonic() - self.start)
        left, right = f"{self.what:<22} {self.detail}", f" {ending:>9} {time_:>6}"
        if len(left) + len(right) > width:
            left, right = f"{self.what} {self.detail}", f" {ending} {time_}"
        room = width - len(right)
        if len(left) > room:
            left = f"{left[: room - 1]}…"
        return f"{left:<{min(room, _LEFT)}}{right}"

    def step(self, done: int, total: int, now: str = "") -> None:
        """Redraw the bar for step `done` of `total`, with `now` running."""
        self.done, self.total = done, total
        elapsed = time.monotonic() - self.start
        left = (
            f"about {clock(elapsed / done * (total - done))} left"
            if done >= 5 and elapsed > 2
            else ""
        )
        if not _shown:
            self.pulse.beat(", ".join(filter(None, (f"{done}/{total}", left))))
        if self.bar is None or elapsed - self.drawn < _TICK:
            return
        self.drawn = elapsed
        self.bar.update(self.bar.task_ids[0], completed=done, total=total, now=f"{left}  {now}")
        self.bar.refresh()


class Pulse:
    """Says once a minute that work goes on, for logs that would be silent."""

    def __init__(self, what: str) -> None:
        """Describe the work in a few words."""
        self.what = what
        self.start = self.last = time.monotonic()

    def beat(self, detail: str = "") -> None:
        """Print a line if the last one is a minute old."""
        now = time.monotonic()
        if now - self.last >= PERIOD:
            self.last = now
            done = f" {detail}," if detail else ""
            announce(f"{self.what}:{done} {clock(now - self.start)} so far")


@contextlib.contextmanager
def pulsing(what: str) -> Iterator[None]:
    """Say once a minute that work goes on, while this thread waits."""
    pulse, is_over = Pulse(what), threading.Event()

    def run() -> None:
        while not is_over.wait(min(PERIOD, 1.0)):
            pulse.beat()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def announce(text: str) -> None:
    """Print a line, above the bar if there is one."""
    if _shown:
        _shown[0].console.print(text, markup=False, highlight=False, soft_wrap=True)
    else:
        print(text, file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """Format minutes and seconds: 1:05."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _bar() -> Bar:
    # Imported only for drawing, since it takes 60 ms.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(WIDTH),
        MofNCompleteColumn(),
        TextColumn("{task.fields[now]}", markup=False, table_column=Column(no_wrap=True)),
        console=Console(stderr=True, highlight=False),
        transient=True,
        auto_refresh=False,
    )
