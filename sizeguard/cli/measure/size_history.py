"""The command `sizeguard history`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.cli import candidates
from sizeguard.cli.image_options import (
    NAMES_OF_LEVELS,
    Output,
    history_output_options,
    levels_of,
)
from sizeguard.cli.project_options import RUNTIME_SOURCE, only_apps, only_targets
from sizeguard.cli.worker_options import Workers, worker_options
from sizeguard.measurement.interrupts import handle_interrupts


@click.command()
@click.option("--since", default="", metavar="REF", help="Begin at this release or commit.")
@click.option(
    "--releases/--commits",
    "are_releases",
    default=None,
    help="Show tagged commits, or all commits of the main line. Default: releases if there are "
    "tags.",
)
@only_apps
@only_targets
@click.option(
    "--by",
    default="",
    metavar="LEVEL",
    help=f"Stack the sizes by one of {NAMES_OF_LEVELS}. Default: depends on the app.",
    shell_complete=candidates.one_of(candidates.levels),
)
@click.option("--build", "builds", is_flag=True, help="Build commits that were not measured yet.")
@worker_options
@click.option(
    "--last",
    default=50,
    show_default=True,
    type=click.IntRange(min=0),
    metavar="N",
    help="Newest points of each app; 0 for all.",
)
@click.option(
    "-n",
    "limit",
    default=1,
    show_default=True,
    type=click.IntRange(min=0),
    help="Rows of each change; 0 for all. JSON has all.",
)
@RUNTIME_SOURCE
@history_output_options
def command(
    since: str,
    are_releases: bool | None,
    apps: tuple[str, ...],
    targets: tuple[str, ...],
    by: str,
    builds: bool,
    workers: Workers,
    last: int,
    limit: int,
    runtime_source: Path | None,
    output: Output,
) -> None:
    """Show the sizes of releases or commits, from the store and from baselines.

    Each point is compared with the last earlier point with a known size. A commit that was never
    measured shows the sizes of its baseline; --build builds it instead.

    \b
    Examples:
      sizeguard history --since v1.0
      sizeguard history --commits --last 20 --build --jobs 2
      sizeguard history --format html --output sizes.html
      sizeguard history --app vision --target x86_64-linux --format badge
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.base.progress import Progress
    from sizeguard.gate.request import Request
    from sizeguard.git.worktrees import remove_worktrees
    from sizeguard.history.history_result import COMMITS, RELEASES
    from sizeguard.history.size_series import HistoryQuestion, size_history
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root, source_of
    from sizeguard.report.history.render import history_chunks

    levels = levels_of(by) if by else []
    if len(levels) > 1:
        raise InputError(f"--by: a history has one level, not '{by}'")
    if workers.are_several and not builds:
        raise InputError("--jobs and --scheduler build commits; add --build")
    root = project_root()
    config = read_config(root)
    source = source_of(config, runtime_source)
    request = Request(root, config, apps, targets, source=source)
    kind = "" if are_releases is None else RELEASES if are_releases else COMMITS
    question = HistoryQuestion(request, since, kind, last, "".join(levels))
    place = request.history.place
    handle_interrupts()
    with (
        Progress("building", "points that were not measured")
        if builds
        else nullcontext() as progress
    ):
        result = size_history(
            question,
            workers.measurer(place) if builds else None,
            progress.step if progress is not None else None,
        )
    if builds:
        remove_worktrees(root, place.worktrees)
    output.emit(history_chunks(result, output.format, limit, output.style()))
