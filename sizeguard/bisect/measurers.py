"""Turns commits to be measured into measurements, several at once on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

from sizeguard.attribution.commits import Measured, Place, try_commit
from sizeguard.build.recipes import Recipe

Wanted = Sequence[tuple[str, str]]  # commit, and the key of its measurement


class Measurer(Protocol):
    """A context; leaving it by an error ends what runs."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def measure(self, wanted: Wanted) -> Iterator[Measured]:
        """In the order in which they are done. Raises BuildError if a machine fails, not a commit."""
        ...


class LocalMeasurer:
    """Each job has a work tree of its own, whose path is as long as the others'."""

    def __init__(self, place: Place, recipe: Recipe, jobs: int) -> None:
        self._stop = threading.Event()
        self._place = replace(place, limits=replace(place.limits, stop=self._stop))
        self._recipe = recipe
        self._pool = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def measure(self, wanted: Wanted) -> Iterator[Measured]:
        running = {self._pool.submit(try_commit, self._place, commit, key, self._recipe) for commit, key in wanted}
        while running:
            done: set[Future[Measured]]
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()
