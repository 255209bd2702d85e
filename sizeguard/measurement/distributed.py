"""Measure commits on the workers of a Dask scheduler.

A worker needs this package, the compilers, and the repository at the same path. Its measurement
comes back as a snapshot and is stored in the store here, so nothing else is shared. Its worktrees
have the same paths as those here, because compilers write paths into binaries.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError, InconclusiveError, InputError, SizeguardError
from sizeguard.base.progress import announce, pulsing
from sizeguard.git.worktrees import worktree
from sizeguard.measurement.measured_commits import (
    DOES_NOT_BUILD,
    TOOLS,
    MeasuredCommit,
    MeasurementPlace,
    find_measured,
    measurement_key,
    try_commit,
)
from sizeguard.measurement.measurers import Attempt, HeadWish, Wish
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.made_heads import PackedHead, make_head, packed
from sizeguard.snapshots.snapshot import snapshot_bytes
from sizeguard.snapshots.store import Facts, Store
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits, Recipe

if TYPE_CHECKING:
    from distributed import Client, Future


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a worker.

    snapshot: its bytes; None if the commit does not build
    head: the files of a built head
    error, exit_code: the error of a failed worker
    """

    commit: str
    key: str
    facts: Facts
    snapshot: bytes | None
    error: str = ""
    exit_code: int = 0
    head: PackedHead | None = None


def measure_here(
    repository: str,
    folders: tuple[str, str],
    commit: str,
    key: str,
    recipe: Recipe,
    limits: tuple[int | None, float | None],
) -> Answer:
    """Measure a commit on a worker.

    folders: for worktrees, and for the worker's own store
    limits:  jobs and seconds of a build
    """
    place = MeasurementPlace(
        Path(repository),
        Path(folders[0]),
        Store(Path(folders[1])),
        Limits(*limits),
        build_failed_again=True,
    )
    try:
        if measurement_key(place, commit, recipe) != key:
            raise InconclusiveError(
                "has another toolchain or another version of sizeguard than this machine"
            )
        measured = try_commit(place, commit, key, recipe)
    except SizeguardError as error:
        return Answer(commit, key, {}, None, str(error), error.exit_code)
    snapshot = None if measured.analysis is None else snapshot_bytes(measured.analysis)
    return Answer(commit, key, place.store.facts(key) or {}, snapshot)


def build_there(
    repository: str,
    worktrees: str,
    commit: str,
    recipe: AnyBuildRecipe,
    limits: tuple[int | None, float | None],
) -> Answer:
    """Build the checked-out files on a worker, and return the files of the images.

    worktrees, limits: as for measure_here
    """
    try:
        with (
            worktree(Path(repository), Path(worktrees)) as tree,
            tree.check_out(commit, recipe.kept_folders),
        ):
            try:
                head = packed(make_head(tree, recipe, commit, Limits(*limits)))
            except DoesNotBuildError as error:
                return Answer(commit, "", {}, None, str(error), error.exit_code)
    except SizeguardError as error:
        return Answer(commit, "", {}, None, str(error), error.exit_code)
    return Answer(commit, "", {}, None, head=head)


class DaskMeasurer:
    """A measurer that sends commits to the workers of a scheduler."""

    def __init__(self, place: MeasurementPlace, address: str) -> None:
        """Measure commits of `place` on the scheduler at `address`."""
        self._place, self._address = place, address
        self._client: Client | None = None

    def __enter__(self) -> Self:
        """Connect to the scheduler.

        Raises InputError if Dask is not installed or the scheduler does not answer.
        """
        try:
            # Imported on use: Dask is optional, and its import takes 1.0 s.
            from distributed import Client

            # It would write tracebacks of a lost connection, which is an error of attempts here.
            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        except ImportError as error:
            raise InputError(
                "--scheduler needs Dask; install with: pip install 'sizeguard[distributed]'"
            ) from error
        try:
            self._client = Client(self._address, timeout=5, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(f"--scheduler {self._address}: cannot connect: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect; tasks that have not started are dropped."""
        if self._client is not None:
            # Release futures without a waiter, so that their tasks do not start
            self._client.close()

    def attempts(self, wanted: Sequence[Wish], heads: Sequence[HeadWish] = ()) -> Iterator[Attempt]:
        """Measure commits and build heads; yield results in order of completion."""
        from distributed import as_completed

        if self._client is None:
            raise ValueError("a measurer is used as a context")
        place = self._place
        folders = (
            str(place.worktrees.resolve()),
            str(place.worktrees.resolve().parent / "worker-store"),
        )
        limits = place.limits.jobs, place.limits.timeout
        wishes: dict[object, Wish | HeadWish] = {}
        for head in heads:
            told = (
                str(head.heads.root),
                folders[0],
                head.heads.commit,
                head.recipe.without_store,
                limits,
            )
            wishes[self._client.submit(build_there, *told, pure=False)] = head
        for wish in wanted:
            found = find_measured(place, wish.commit, wish.key)
            if found is not None:
                yield Attempt(wish, found)
                continue
            asked = (str(place.repository), folders, wish.commit, wish.key, wish.recipe, limits)
            # pure=False: the scheduler must not cache a failure that a full disk caused.
            wishes[self._client.submit(measure_here, *asked, pure=False)] = wish
        if not wishes:
            return
        where = f"{self._workers()} of {self._address}"
        announce(f"building {len(wishes)} on {where}")
        with pulsing(f"waiting for workers of {self._address}"):
            for future in as_completed(wishes, loop=self._client.loop):
                yield self._attempt(wishes[future], future)

    def _workers(self) -> str:
        """Count the workers; without one, builds wait until one comes."""
        count = len(self._client.scheduler_info()["workers"]) if self._client is not None else 0
        return f"{count} worker{'' if count == 1 else 's'}"

    def _attempt(self, wish: Wish | HeadWish, future: Future) -> Attempt:
        commit = wish if isinstance(wish, Wish) else None
        try:
            answer = self._answer(future)
            if isinstance(wish, Wish):
                return Attempt(wish, self._keep(answer))
            if answer.head is not None:
                wish.heads.keep(answer.head, wish.recipe)
        except SizeguardError as error:
            return Attempt(commit, None, error)
        return Attempt(commit, None)

    def _answer(self, future: Future) -> Answer:
        """Return the answer of a worker; raise the error of a failed one."""
        from distributed import KilledWorker

        try:
            answer: Answer = future.result()
        except KilledWorker as error:
            told = f"workers of {self._address} were killed: {error}".partition("\n")[0]
            raise BuildError(told) from error
        except CancelledError as error:
            raise BuildError(f"the connection to {self._address} was lost") from error
        except OSError as error:
            raise BuildError(f"a worker of {self._address}: {error}") from error
        if answer.error:
            kinds = {3: InconclusiveError, 2: InputError}
            raise kinds.get(answer.exit_code, SizeguardError)(
                f"a worker of {self._address} {answer.error}"
            )
        return answer

    def _keep(self, answer: Answer) -> MeasuredCommit:
        stored = self._place.store.put_snapshot(answer.key, answer.facts, answer.snapshot)
        return MeasuredCommit(
            answer.commit,
            answer.key,
            stored.analysis,
            str(answer.facts.get(DOES_NOT_BUILD, "")),
            was_built=True,
            tools=str(answer.facts.get(TOOLS, "")),
        )
