"""Print the progress of a bisect on stderr: sizes, and an estimate of the remaining time."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from sizeguard.base.errors import InputError
from sizeguard.base.progress import announce, clock
from sizeguard.bisect.bisect_result import News
from sizeguard.report.writers.printable import at_most, printable

_SUBJECT = 24  # columns of a commit's subject; the line then fits a terminal of 80


class BisectProgress:
    """Prints a line for each built commit, and counts measurements from the store.

    Use it as a context manager.
    """

    def __init__(self, what: str, metric: str) -> None:
        """Start the progress of a bisect: `what` is searched for `metric`."""
        self._title = f"bisecting {printable(what)} for {printable(metric)}"
        self._start = self._before = time.monotonic()
        self._built = 0
        self._stored = 0

    def __enter__(self) -> Self:
        """Print the title."""
        announce(self._title)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Print the counts and the time."""
        ending = "stopped; continue with sizeguard bisect --resume" if kind is not None else "done"
        if isinstance(error, InputError):
            ending = "stopped"  # it would end in the same way
        counts = f"{self._built} built, {self._stored} from the store"
        announce(f"{ending}: {counts}, {clock(time.monotonic() - self._start)}")

    def tell(self, news: News) -> None:
        """Print the measurement of a commit, or count it if it was in the store."""
        if not news.was_built:
            self._stored += 1
            self._before = time.monotonic()
            return
        self._built += 1
        now = time.monotonic()
        size = f"{news.value:>12,}" if news.value is not None else f"{'no build':>12}"
        # With --jobs, several builds run in parallel: measure the time between two results.
        left = (
            f"about {news.remaining} more,"
            f" {clock((now - self._start) / self._built * news.remaining)}"
            if news.remaining
            else "the last one"
        )
        subject = f"{at_most(printable(news.commit.subject), _SUBJECT):<{_SUBJECT}}"
        took = clock(now - self._before)
        announce(f"  {news.commit.id[:7]} {size}  {took:>6}  {subject}  {left}")
        self._before = now
