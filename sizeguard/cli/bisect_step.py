"""Turns one commit into the exit code that `git bisect run` reads: 0 good, 1 bad, 125 skip, 128 for all that is no verdict.

Git takes any code from 1 to 124 for a verdict on the commit, and so a traceback (1) or a wrong option (2) for "bad". So the work is done
in a process of its own, which says its verdict by codes that nothing else ends with; whatever else becomes of it is 128, and git stops.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from sizeguard.cli.commit_options import CommitBuild, commit_options

GOOD, BAD, SKIP, NO_VERDICT = 0, 1, 125, 128
# What the process that does the work ends with.
_VERDICTS = {90: GOOD, 91: BAD, 92: SKIP, 93: 0}
_CODES = {GOOD: 90, BAD: 91, SKIP: 92}
_HELP_WAS_SHOWN = 93


@click.command()
@commit_options
@click.option("--limit", type=click.IntRange(min=0), metavar="BYTES", help="The commit is bad if the metric is larger.")
@click.option("--than", metavar="REVISION", help="The commit is bad if the metric is larger than it is there.")
@click.option("--threshold", default=0, type=click.IntRange(min=0), metavar="BYTES", help="With --than: larger by more than this.")
@click.option("--commit", "revision", default="HEAD", show_default=True, metavar="REVISION", help="The commit that is judged.")
@click.pass_context
def command(
    context: click.Context, build: CommitBuild, limit: int | None, than: str | None, threshold: int, revision: str
) -> None:  # fmt: skip
    """Judge the commit that is checked out, for git bisect run: one commit, the first at which a metric grew beyond a limit.

    Exit code 0: good. 1: bad. 125: it does not build. 128: anything that is no verdict, so that git stops and blames no commit. The
    commit is built in a work tree of its own, and what is known of it already is not built again; changes that are not committed would
    not be seen, so they are refused.

    \b
    Examples:
      git bisect start main v1.2
      git bisect run sizeguard bisect-step --app vision --metric operator/aten::convolution --than v1.2
      git bisect run sizeguard bisect-step --limit 50000 --build-command 'make -j2' --image build/app
    """
    from sizeguard.attribution.commits import measure_commit
    from sizeguard.attribution.metrics import metric_value
    from sizeguard.build.git import git, top_folder
    from sizeguard.build.recipes import DoesNotBuildError
    from sizeguard.errors import InconclusiveError, InputError

    if (limit is None) == (than is None):
        raise InputError("give --limit BYTES or --than REVISION")
    repository = top_folder(Path.cwd())
    metric = build.parsed_metric()
    if revision == "HEAD" and git(repository, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"):
        raise InconclusiveError(f"{repository}: files differ from HEAD, and a commit is judged: commit or stash them")
    recipe, place = build.recipe(repository), build.place(repository)
    if than is not None:
        try:
            base = measure_commit(place, than, recipe).analysis
        except DoesNotBuildError as error:
            raise InconclusiveError(f"--than {error}") from error
        if base is None:
            raise InconclusiveError(f"--than {than}: was not measured")
        limit = metric_value(base, metric) + threshold
    try:
        analysis = measure_commit(place, revision, recipe).analysis
    except DoesNotBuildError as error:
        click.echo(f"skip  {error}")
        context.exit(SKIP)
    if analysis is None or limit is None:
        raise InconclusiveError(f"{revision}: was not measured")
    value = metric_value(analysis, metric)
    verdict = BAD if value > limit else GOOD
    click.echo(f"{'bad' if verdict else 'good'}  {metric} {value:,} {'>' if verdict else '≤'} {limit:,}")
    context.exit(verdict)


def supervise(arguments: Sequence[str]) -> int:
    """Run the command in a process of its own; its verdict, or 128."""
    code = f"import sys; from {__name__} import work; sys.exit(work(sys.argv[1:]))"
    try:
        done = subprocess.run([sys.executable, "-P", "-c", code, *arguments], check=False)
    except OSError as error:
        print(f"error: {sys.executable}: {error.strerror}", file=sys.stderr)
        return NO_VERDICT
    return _VERDICTS.get(done.returncode, NO_VERDICT)


def work(arguments: Sequence[str]) -> int:
    """A verdict as a code of _VERDICTS; errors as main() prints them."""
    from sizeguard.cli.main import print_error
    from sizeguard.errors import SizeguardError

    if any(word in ("--help", "-h") for word in arguments):
        command.main(["--help"], prog_name="sizeguard bisect-step", standalone_mode=False)
        return _HELP_WAS_SHOWN
    try:
        code = command.main(list(arguments), prog_name="sizeguard bisect-step", standalone_mode=False)
    except (SizeguardError, click.ClickException, click.Abort) as error:
        print_error(error)
        return 1
    return _CODES.get(code, 1) if isinstance(code, int) else 1
