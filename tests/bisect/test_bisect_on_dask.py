"""Builds of a bisect on the workers of a Dask cluster."""

from __future__ import annotations

import re
import subprocess
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from sizeguard.base.errors import BuildError, InconclusiveError
from sizeguard.measurement.measured_commits import MeasurementPlace
from sizeguard.measurement.measurers import Wish, measured_by
from sizeguard.projects.command import CommandRecipe
from sizeguard.snapshots.store import Store
from tests.support.histories.bisect_runs import bisected
from tests.support.histories.small_history import SmallRepository, state_of_checkout


def test_builds_on_a_dask_cluster(
    spike: tuple[SmallRepository, dict[str, str]], scheduler: str, tmp_path: Path
) -> None:
    """The workers are separate processes.

    Their measurements equal those of this machine, and are stored on it.
    """
    repository, names = spike
    alone = bisected(repository.path, names["good"], "main", "--ignore", "*.md")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(repository.path), str(clone)], check=True)
    before = state_of_checkout(clone)
    there = bisected(clone, names["good"], "main", "--ignore", "*.md", "--scheduler", scheduler)
    assert there["builds"] == alone["builds"] + alone["reused"]
    for key in ("delta", "neutral"):
        assert there[key] == alone[key]
    assert [each["delta"] for each in there["culprits"]] == [
        each["delta"] for each in alone["culprits"]
    ]
    again = bisected(clone, names["good"], "main", "--ignore", "*.md")
    assert again["builds"] == 0
    assert again["culprits"] == there["culprits"]
    assert state_of_checkout(clone) == before


@pytest.mark.native
def test_a_worker_of_another_toolchain_is_refused(
    spike: tuple[SmallRepository, dict[str, str]], scheduler: str, tmp_path: Path
) -> None:
    from sizeguard.measurement.distributed import DaskMeasurer

    repository, names = spike
    place = MeasurementPlace(repository.path, tmp_path / "trees", Store(tmp_path / "store"))
    recipe, measurer = CommandRecipe("true", "app"), DaskMeasurer(place, scheduler)
    with measurer, pytest.raises(InconclusiveError, match="another toolchain"):
        list(measured_by(measurer, [Wish(names["good"], "not the key", recipe)]))


@pytest.mark.native
@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (CancelledError("lost"), "the connection to tcp://.* was lost"),
        (OSError(28, "No space left on device", "/tmp"), "a worker of tcp://.* No space left"),
    ],
)
def test_a_lost_scheduler_or_a_full_disk_of_a_worker_is_an_error_of_the_build(
    spike: tuple[SmallRepository, dict[str, str]], scheduler: str, tmp_path: Path,
    raised: Exception, said: str, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    from distributed import Future

    from sizeguard.measurement.distributed import DaskMeasurer

    def result(*_: object) -> None:
        raise raised

    monkeypatch.setattr(Future, "result", result)
    repository, names = spike
    place = MeasurementPlace(repository.path, tmp_path / "trees", Store(tmp_path / "store"))
    wish = Wish(names["good"], "not the key", CommandRecipe("true", "app"))
    with DaskMeasurer(place, scheduler) as measurer:
        (attempt,) = measurer.attempts([wish])
    assert isinstance(attempt.error, BuildError)
    assert re.match(said, str(attempt.error))
