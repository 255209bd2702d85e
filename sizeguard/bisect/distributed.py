"""Turns commits to be measured into measurements, on the workers of a Dask scheduler.

A worker needs this package, the compilers, and the repository at the same path. What it measures comes back as a snapshot and is kept in
the store here, so nothing else must be shared. Its work trees lie at the same path as those here: compilers write paths into binaries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sizeguard.attribution.commits import DOES_NOT_BUILD, Measured, Place, find_measured, measurement_key, try_commit
from sizeguard.attribution.store import Facts, Store
from sizeguard.bisect.measurers import Wanted
from sizeguard.build.recipes import Limits, Recipe
from sizeguard.errors import InconclusiveError, InputError, SizeguardError

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, slots=True)
class Answer:
    """What a worker sends. snapshot: bytes of one, None if the commit does not build; error, exit_code: if the worker failed."""

    commit: str
    key: str
    facts: Facts
    snapshot: bytes | None
    error: str = ""
    exit_code: int = 0


def measure_here(
    repository: str, folders: tuple[str, str], commit: str, key: str, recipe: Recipe, limits: tuple[int | None, float | None]
) -> Answer:
    """Run by a worker. folders: of work trees, and of the worker's own store."""
    from sizeguard.attribution.snapshot import snapshot_bytes

    place = Place(Path(repository), Path(folders[0]), Store(Path(folders[1])), Limits(*limits), build_failed_again=True)
    try:
        if measurement_key(place, commit, recipe) != key:
            raise InconclusiveError("has another toolchain or another version of sizeguard than this machine")
        measured = try_commit(place, commit, key, recipe)
    except SizeguardError as error:
        return Answer(commit, key, {}, None, str(error), error.exit_code)
    snapshot = None if measured.analysis is None else snapshot_bytes(measured.analysis)
    return Answer(commit, key, place.store.facts(key) or {}, snapshot)


class DaskMeasurer:
    def __init__(self, place: Place, recipe: Recipe, address: str) -> None:
        self._place, self._recipe, self._address = place, recipe, address
        self._client: Client | None = None

    def __enter__(self) -> Self:
        try:
            from distributed import Client
        except ImportError as error:
            raise InputError("--scheduler needs Dask; install with: pip install 'sizeguard[distributed]'") from error
        try:
            self._client = Client(self._address, timeout=5, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(f"--scheduler {self._address}: cannot connect: {error}") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._client is not None:
            self._client.close()  # futures that nobody waits for are released, and their tasks not begun

    def measure(self, wanted: Wanted) -> Iterator[Measured]:
        from distributed import as_completed

        if self._client is None:
            raise ValueError("a measurer is used as a context")
        place = self._place
        folders = str(place.worktrees.resolve()), str(place.worktrees.resolve().parent / "worker-store")
        limits = place.limits.jobs, place.limits.timeout
        missing = []
        for commit, key in wanted:
            found = find_measured(place, commit, key)
            if found is not None:
                yield found
            else:
                missing.append((commit, key))
        # pure=False: a build that failed for want of disk is no fact to be kept by the scheduler.
        futures = [
            self._client.submit(measure_here, str(place.repository), folders, commit, key, self._recipe, limits, pure=False)
            for commit, key in missing
        ]
        for future in as_completed(futures, loop=self._client.loop):
            yield self._keep(future.result())

    def _keep(self, answer: Answer) -> Measured:
        if answer.error:
            kinds = {3: InconclusiveError, 2: InputError}
            raise kinds.get(answer.exit_code, SizeguardError)(f"a worker of {self._address} {answer.error}")
        stored = self._place.store.put_snapshot(answer.key, answer.facts, answer.snapshot)
        return Measured(answer.commit, answer.key, stored.analysis, str(answer.facts.get(DOES_NOT_BUILD, "")), was_built=True)
