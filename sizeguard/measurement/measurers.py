"""Measure several commits in parallel on this machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import SizeguardError
from sizeguard.measurement.interrupts import POLL, held_interrupts, raise_interrupt
from sizeguard.measurement.measured_commits import (
    MeasuredCommit,
    MeasurementPlace,
    find_measured,
    try_commit,
)
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.head_builds import HeadBuilds
from sizeguard.toolchains.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Wish:
    """A commit to measure, by its full id.

    key: key of its measurement
    recipe: builds it
    """

    commit: str
    key: str
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class HeadWish:
    """An app to build from the checked-out files, and to store with all its files."""

    heads: HeadBuilds
    recipe: AnyBuildRecipe
    target: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of a measurement, or the error of the machine.

    wish: None for an app that was built from the checked-out files
    """

    wish: Wish | None
    measured: MeasuredCommit | None
    error: SizeguardError | None = None


class Measurer(Protocol):
    """A measurer of commits, used as a context manager.

    If an error leaves the context, running builds end.
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

    def attempts(self, wanted: Sequence[Wish], heads: Sequence[HeadWish] = ()) -> Iterator[Attempt]:
        """Measure commits and build heads; yield results in order of completion.

        A machine's error is also an attempt.
        """
        ...


def measured_by(measurer: Measurer, wanted: Sequence[Wish]) -> Iterator[MeasuredCommit]:
    """Measure commits; yield results in order of completion.

    Raises BuildError if a machine fails, not a commit.
    """
    for attempt in measurer.attempts(wanted):
        if attempt.error is not None:
            raise attempt.error
        if attempt.measured is not None:
            yield attempt.measured


def attempts_in_waves(
    place: MeasurementPlace,
    measurer: Measurer,
    wanted: Iterable[Wish],
    heads: Sequence[HeadWish] = (),
) -> Iterator[Attempt]:
    """Measure commits of several recipes without building twice; heads are built in parallel.

    Images of one build are in different waves, because the first one stores the others.
    """
    left = list({wish.key: wish for wish in wanted}.values())
    while left or heads:
        wave: dict[tuple[str, str], Wish] = {}
        later: list[Wish] = []
        for wish in left:
            found = find_measured(place, wish.commit, wish.key)
            if found is not None:
                yield Attempt(wish, found)
            elif wave.setdefault((wish.commit, wish.recipe.build_name), wish) is not wish:
                later.append(wish)
        yield from measurer.attempts(list(wave.values()), heads)
        left, heads = later, ()


class LocalMeasurer:
    """A measurer with several jobs, each in its own worktree.

    The paths of all worktrees have the same length.
    """

    def __init__(self, place: MeasurementPlace, jobs: int) -> None:
        """Measure commits of `place`, at most `jobs` at once."""
        self._stop = threading.Event()
        limits = replace(place.limits, stop=self._stop)
        if jobs > 1 and limits.jobs is None:
            # Parallel builds share the cores.
            limits = replace(limits, jobs=max((os.cpu_count() or 1) // jobs, 1))
        self._place = replace(place, limits=limits)
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
        with held_interrupts():
            self._pool.shutdown(wait=True, cancel_futures=True)
        if kind is None:
            raise_interrupt()

    def attempts(self, wanted: Sequence[Wish], heads: Sequence[HeadWish] = ()) -> Iterator[Attempt]:
        """Measure commits and build heads; yield results in order of completion."""
        # An interrupt while a future is locked would leave its worker waiting forever.
        with held_interrupts():
            running = {self._pool.submit(self._build_head, wish) for wish in heads}
            running |= {self._pool.submit(self._attempt, wish) for wish in wanted}
        while running:
            raise_interrupt()
            done: set[Future[Attempt]]
            with held_interrupts():
                done, running = wait(running, POLL, FIRST_COMPLETED)
                results = [each.result() for each in done]
            yield from results

    def _attempt(self, wish: Wish) -> Attempt:
        try:
            return Attempt(wish, try_commit(self._place, wish.commit, wish.key, wish.recipe))
        except SizeguardError as error:
            return Attempt(wish, None, error)

    def _build_head(self, wish: HeadWish) -> Attempt:
        try:
            wish.heads.build_now(wish.recipe, wish.target, self._place.limits)
        except SizeguardError as error:
            return Attempt(None, None, error)
        return Attempt(None, None)
