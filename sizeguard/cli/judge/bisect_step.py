"""The command `sizeguard bisect-step`, whose exit code `git bisect run` reads.

0 good, 1 bad, 125 skip, 128 no verdict.

Git takes any exit code from 1 to 124 as a verdict: a traceback (1) or a wrong option (2) would mean
"bad". So a worker process judges the commit and ends with exit codes that nothing else uses. If the
worker ends with any other code, the command ends with 128, and git stops.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.cli.commit_options import CommitBuild, commit_options
from sizeguard.cli.error_lines import print_error
from sizeguard.cli.lazy_group import complete_command

if TYPE_CHECKING:
    from sizeguard.measurement.measured_commits import MeasurementPlace
    from sizeguard.measurement.metric import Metric
    from sizeguard.toolchains.recipe import Recipe

# Exit codes that `git bisect run` reads.
GOOD, BAD, SKIP, NO_VERDICT = 0, 1, 125, 128
_BISECTED = "refs/bisect/bad"  # a metric that this revision has is known

# Exit codes of the worker process. Python ends with 1 for a traceback and 120 if output is lost;
# click ends with 1 or 2.
_WORKER_CODES = {GOOD: 90, BAD: 91, SKIP: 92}
_WORKER_FAILED = 1
_EXIT_CODES = {code: verdict for verdict, code in _WORKER_CODES.items()}


@click.command()
@commit_options
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="The commit is bad if the metric is larger.",
)
@click.option(
    "--than",
    metavar="REVISION",
    help="The commit is bad if the metric is larger than at this commit.",
)
@click.option(
    "--threshold",
    default=0,
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="With --than: the growth to allow, in bytes.",
)
@click.option(
    "--commit",
    "revision",
    default="HEAD",
    show_default=True,
    metavar="REVISION",
    help="The commit to judge.",
)
@click.pass_context
def command(
    context: click.Context,
    build: CommitBuild,
    limit: int | None,
    than: str | None,
    threshold: int,
    revision: str,
) -> None:
    """Judge the checked-out commit, for git bisect run.

    git bisect finds the first commit at which a metric grew beyond a limit. The commit is built in
    a separate worktree, unless it is already measured. Uncommitted changes are refused, because
    the build would not see them.

    \b
    Examples:
      git bisect start main v1.2
      git bisect run sizeguard bisect-step --app vision \\
          --metric operator/aten::convolution --than v1.2
      git bisect run sizeguard bisect-step --limit 50000 \\
          --build-command 'make -j2' --image build/app
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.git.git import top_folder
    from sizeguard.toolchains.recipe import DoesNotBuildError

    if limit is not None and than is not None:
        raise InputError("--limit and --than: give one of them; --than measures the limit")
    if limit is None and than is None:
        raise InputError("give --limit BYTES or --than REVISION")
    if threshold and than is None:
        raise InputError("--threshold is growth since --than REVISION; add it to --limit")
    repository = top_folder(Path.cwd())
    metric = build.parsed_metric()
    if revision == "HEAD":
        _refuse_changed_files(repository)
    recipe, place = build.recipe(repository), build.place(repository)
    if than is not None:
        try:
            limit = _size_of(place, than, recipe, metric, f"--than {than}") + threshold
        except DoesNotBuildError as error:
            raise InconclusiveError(f"--than {error}") from error
    try:
        value = _size_of(place, revision, recipe, metric, revision)
    except DoesNotBuildError as error:
        click.echo(f"skip  {error}")
        context.exit(SKIP)
    assert limit is not None  # either --limit or --than was given
    if not value:
        others = [each for each in (than, _BISECTED if revision == "HEAD" else None) if each]
        _require_known(place, [revision, *others], recipe, metric)
    if value > limit:
        click.echo(f"bad  {metric} {value:,} > {limit:,}")
        context.exit(BAD)
    click.echo(f"good  {metric} {value:,} ≤ {limit:,}")
    context.exit(GOOD)


def _require_known(
    place: MeasurementPlace, revisions: Sequence[str], recipe: Recipe, metric: Metric
) -> None:
    """Raise InconclusiveError if none of the revisions has the metric's name."""
    from sizeguard.measurement.measured_commits import measure_commit
    from sizeguard.measurement.metric import has_name, known_metrics, nearest_metric
    from sizeguard.toolchains.recipe import DoesNotBuildError

    near = ""
    for revision in revisions:
        try:
            analysis = measure_commit(place, revision, recipe).analysis
        except (DoesNotBuildError, InputError):
            continue  # the ref does not exist, because git bisect does not run
        if analysis is None:
            continue
        if has_name(analysis, metric):
            return
        near = near or nearest_metric(metric, known_metrics(analysis))
    hint = f"; nearest is {near}" if near else ""
    raise InconclusiveError(f"no measured commit has {metric}{hint}")


def _refuse_changed_files(repository: Path) -> None:
    """Raise InconclusiveError if tracked files differ from HEAD: the build would not see them."""
    from sizeguard.git.git import git

    if git(repository, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"):
        raise InconclusiveError(
            f"{repository}: tracked files differ from HEAD; commit or stash them"
        )


def _size_of(
    place: MeasurementPlace, commit: str, recipe: Recipe, metric: Metric, name: str
) -> int:
    """Build a commit and measure the metric.

    Raises DoesNotBuildError if the commit does not build, and InconclusiveError, with a message
    that begins with `name`, if it could not be measured.
    """
    from sizeguard.measurement.measured_commits import measure_commit
    from sizeguard.measurement.metric import metric_value

    analysis = measure_commit(place, commit, recipe).analysis
    if analysis is None:
        raise InconclusiveError(f"{name}: not measured")
    return metric_value(analysis, metric)


def supervise(arguments: Sequence[str]) -> int:
    """Run the command in a worker process; return its verdict, or 128."""
    code = f"import sys; from {__name__} import work; sys.exit(work(sys.argv[1:]))"
    try:
        done = subprocess.run([sys.executable, "-P", "-c", code, *arguments], check=False)
    except OSError as error:
        print(f"error: {sys.executable}: {error.strerror}", file=sys.stderr)
        return NO_VERDICT
    return _EXIT_CODES.get(done.returncode, NO_VERDICT)


def work(arguments: Sequence[str]) -> int:
    """Run the command in the worker process; return the worker's exit code.

    Errors are printed as main() prints them.
    """
    complete_command("bisect-step", command)
    try:
        code = command.main(
            list(arguments), prog_name="sizeguard bisect-step", standalone_mode=False
        )
    except (Exception, KeyboardInterrupt) as error:  # no other exit code is a verdict
        print_error(error)
        return _WORKER_FAILED
    return _WORKER_CODES.get(code, _WORKER_FAILED) if isinstance(code, int) else _WORKER_FAILED
