"""Measure several commits at once on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol, Self

from sizeguard.base.errors import SizeguardError
from sizeguard.measurement.measured_commits import (
    MeasuredCommit,
    MeasurementPlace,
    find_measured,
    try_commit,
)
from sizeguard.toolchains.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Wish:
    """A commit that is to be measured, by its full id.

    key:    of its measurement
    recipe: how it is built
    """

    commit: str
    key: str
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class Attempt:
    """The end of a measurement: what was measured, or the error of the machine."""

    wish: Wish
    measured: MeasuredCommit | None
    error: SizeguardError | None = None


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

    def attempts(self, wanted: Sequence[Wish]) -> Iterator[Attempt]:
        """Measure commits, in the order in which they are done; a machine that fails is told."""
        ...


def measured_by(measurer: Measurer, wanted: Sequence[Wish]) -> Iterator[MeasuredCommit]:
    """Measure commits, in the order in which they are done.

    Raises BuildError if a machine fails, not a commit.
    """
    for attempt in measurer.attempts(wanted):
        if attempt.error is not None:
            raise attempt.error
        if attempt.measured is not None:
            yield attempt.measured


def attempts_in_waves(
    place: MeasurementPlace, measurer: Measurer, wanted: Iterable[Wish]
) -> Iterator[Attempt]:
    """Measure commits of several recipes, and no build twice.

    Images of one build are in different waves: the first brings the others into the store.
    """
    left = list({wish.key: wish for wish in wanted}.values())
    while left:
        wave: dict[tuple[str, str], Wish] = {}
        later: list[Wish] = []
        for wish in left:
            found = find_measured(place, wish.commit, wish.key)
            if found is not None:
                yield Attempt(wish, found)
            elif wave.setdefault((wish.commit, wish.recipe.build_name), wish) is not wish:
                later.append(wish)
        yield from measurer.attempts(list(wave.values()))
        left = later


class LocalMeasurer:
    """A measurer with several jobs, each in a worktree of its own.

    The paths of all worktrees have one length.
    """

    def __init__(self, place: MeasurementPlace, jobs: int) -> None:
        """Measure commits of `place`, at most `jobs` at once."""
        self._stop = threading.Event()
        self._place = replace(place, limits=replace(place.limits, stop=self._stop))
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

    def attempts(self, wanted: Sequence[Wish]) -> Iterator[Attempt]:
        """Measure commits, in the order in which they are done."""
        running = {self._pool.submit(self._attempt, wish) for wish in wanted}
        while running:
            done: set[Future[Attempt]]
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()

    def _attempt(self, wish: Wish) -> Attempt:
        try:
            return Attempt(wish, try_commit(self._place, wish.commit, wish.key, wish.recipe))
        except SizeguardError as error:
            return Attempt(wish, None, error)
