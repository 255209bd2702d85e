"""Options for building commits: parallel builds on this machine, or the workers of a scheduler."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from sizeguard.base.dataclass import dataclass
from sizeguard.cli.option_groups import option_group

if TYPE_CHECKING:
    from sizeguard.measurement.measured_commits import MeasurementPlace
    from sizeguard.measurement.measurers import Measurer

_ADDRESS = re.compile(r"(?:(?:tcp|tls|ucx|wss?)://)?[^\s/]+:\d+|inproc://\S+")


@dataclass(frozen=True, slots=True)
class Workers:
    """Build workers. jobs: parallel builds on this machine; scheduler: its address, if any."""

    jobs: int
    scheduler: str | None

    @property
    def are_several(self) -> bool:
        """Return whether builds may run at the same time."""
        return self.jobs > 1 or self.scheduler is not None

    def measurer(self, place: MeasurementPlace) -> Measurer:
        """Choose where to build and measure: on a scheduler's workers or on this machine."""
        # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
        if self.scheduler is not None:
            from sizeguard.measurement.distributed import DaskMeasurer

            return DaskMeasurer(place, self.scheduler)
        from sizeguard.measurement.measurers import LocalMeasurer

        return LocalMeasurer(place, self.jobs)


def _address(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Check an address before anything is built; Dask waits for a wrong one."""
    if value is not None and not _ADDRESS.fullmatch(value):
        raise click.BadParameter(
            f"'{value}' is not an address; write tcp://host:8786", context, parameter
        )
    return value


# Options for the workers; the command gets one Workers.
worker_options = option_group(
    "workers",
    Workers,
    click.option(
        "--jobs",
        default=1,
        show_default=True,
        type=click.IntRange(1, 99),
        metavar="N",
        help="Parallel builds, each in its own worktree.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        callback=_address,
        help="Build on the workers of a Dask scheduler: tcp://host:8786.",
    ),
)
