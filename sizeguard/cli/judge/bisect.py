"""The command `sizeguard bisect`."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.cli.commit_options import CommitBuild, commit_options, home_of
from sizeguard.cli.image_options import Output, output_options
from sizeguard.cli.option_groups import given_besides
from sizeguard.cli.worker_options import Workers, worker_options
from sizeguard.measurement.interrupts import handle_interrupts

# Parameters that do not change what a resumed run measures.
_OF_A_RESUMED_RUN = frozenset(
    {"resume", "compilers", "timeout", "again", "keep_worktrees", "limit"}
    | {each.name for kind in (Workers, Output) for each in fields(kind)}
)
UNKNOWN = 3  # the exit code if no measured commit has the metric


@click.command()
@click.argument("good", required=False, metavar="GOOD")
@click.argument("bad", required=False, metavar="BAD")
@commit_options
@click.option(
    "--threshold",
    default=0,
    metavar="BYTES",
    type=click.IntRange(min=0),
    help="Sum commits with smaller changes in one row.",
)
@click.option("--exhaustive", is_flag=True, help="Build every commit with different inputs.")
@click.option(
    "--narrow",
    is_flag=True,
    help="Search only ranges whose ends differ in the metric's own rows: fewer builds.",
)
@click.option(
    "--first-parent/--into-merges",
    default=True,
    help="Treat a merge as one commit, or also search its branch.",
)
@worker_options
@click.option(
    "--resume", is_flag=True, help="Continue the last run of this repository, with its options."
)
@click.option(
    "--keep-worktrees",
    is_flag=True,
    help="Keep the worktrees, so that the next run compiles less.",
)
@click.option(
    "-n",
    "limit",
    default=3,
    show_default=True,
    type=click.IntRange(min=0),
    help="Rows of each commit; 0 for all. JSON has all.",
)
@output_options
@click.pass_context
def command(
    context: click.Context,
    good: str | None,
    bad: str | None,
    build: CommitBuild,
    threshold: int,
    exhaustive: bool,
    narrow: bool,
    first_parent: bool,
    workers: Workers,
    resume: bool,
    keep_worktrees: bool,
    limit: int,
    output: Output,
) -> None:
    """Find every commit from GOOD to BAD that changed the size, and by how many bytes.

    The changes of the commits sum to the whole change.

    A range of commits is searched if any part of the image has another size at its other end,
    because sizes can go up and down. Commits with equal inputs are built once. Measured commits are
    never built again, even after a kill. Builds run in separate worktrees.

    \b
    Examples:
      sizeguard bisect v1.2 main --app vision --metric operator/aten::convolution
      sizeguard bisect HEAD~40 HEAD --build-command 'make -j2' --image build/app --ignore '*.md'
      sizeguard bisect v1.2 main --threshold 256 --jobs 2 --format html --output why.html
      sizeguard bisect --resume
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.bisect.state import read_state, write_state
    from sizeguard.bisect.whole_range import Question, bisect, check_question
    from sizeguard.git.commits import read_history
    from sizeguard.git.git import commit_id, top_folder
    from sizeguard.git.worktrees import remove_worktrees
    from sizeguard.report.bisect.bisect_progress import BisectProgress
    from sizeguard.report.bisect.render import bisect_chunks

    repository = top_folder(Path.cwd())
    state = home_of(repository) / "bisect.json"
    if resume and (good or bad):
        raise InputError(
            "--resume continues the last run and takes no revisions (a new run also reuses "
            "measured commits)"
        )
    if resume:
        _refuse_for_resume(context)
        asked, question = read_state(state, CommitBuild)
        build = replace(asked, compilers=build.compilers, timeout=build.timeout, again=build.again)
    elif not good or not bad:
        raise InputError(_missing_end(good or ""))
    else:
        ends = commit_id(repository, good), commit_id(repository, bad)
        metric, into_merges = build.parsed_metric(), not first_parent
        question = Question((good, bad), ends, metric, threshold, exhaustive, narrow, into_merges)
    check_question(question)
    read_history(repository, question.names, question.ends)  # a refused range is no last run
    recipe, place = build.recipe(repository), build.place(repository)
    write_state(state, build, question)
    handle_interrupts()
    with (
        BisectProgress(" → ".join(question.names), str(question.metric)) as progress,
        workers.measurer(place) as measurer,
    ):
        result = bisect(place, recipe, question, measurer, progress.tell)
    if not keep_worktrees:
        remove_worktrees(repository, place.worktrees)
    output.emit(bisect_chunks(result, output.format, limit, output.style()))
    if result.is_unknown:
        context.exit(UNKNOWN)


def _refuse_for_resume(context: click.Context) -> None:
    """Raise InputError for an option that the last run has already."""
    if wrong := given_besides(context, _OF_A_RESUMED_RUN):
        raise InputError(
            f"--resume continues the last run with its options; leave {wrong} out, or name GOOD"
            " and BAD for a new run, which also reuses measured commits"
        )


def _missing_end(good: str) -> str:
    """Say how to name both ends; a range of git has them in one word."""
    if ".." in good:
        both = " ".join(end or "HEAD" for end in re.split(r"\.{2,3}", good, maxsplit=1))
        return f"'{good}' is a range; give its ends: sizeguard bisect {both}"
    return "missing argument GOOD or BAD: sizeguard bisect GOOD BAD, or --resume for the last run"
