"""Measure several commits at once on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

from sizeguard.measurement.measured_commits import MeasuredCommit, MeasurementPlace, try_commit
from sizeguard.toolchains.recipe import Recipe

Wanted = Sequence[tuple[str, str]]  # commit, and the key of its measurement


class Measurer(Protocol):
    """A measurer of commits, used as a context manager.

    Leaving the context by an error ends running builds.
    """

    def __enter__(self) -> Self:
        """Get ready."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the workers; after an error, end their builds."""
        ...

    def measure(self, wanted: Wanted) -> Iterator[MeasuredCommit]:
        """Measure commits, in the order in which they are done.

        Raises BuildError if a machine fails, not a commit.
        """
        ...


class LocalMeasurer:
    """A measurer with several jobs, each in a worktree of its own.

    The paths of all worktrees have one length.
    """

    def __init__(self, place: MeasurementPlace, recipe: Recipe, jobs: int) -> None:
        """Measure commits of `place`, at most `jobs` at once."""
        self._stop = threading.Event()
        self._place = replace(place, limits=replace(place.limits, stop=self._stop))
        self._recipe = recipe
        self._pool = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Self:
        """Return the measurer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for running builds; after an error, stop them."""
        if kind is not None:
            self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def measure(self, wanted: Wanted) -> Iterator[MeasuredCommit]:
        """Measure commits, in the order in which they are done."""
        running = {
            self._pool.submit(try_commit, self._place, commit, key, self._recipe)
            for commit, key in wanted
        }
        while running:
            done: set[Future[MeasuredCommit]]
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()
