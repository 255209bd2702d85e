"""The command `sizeguard diff`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizeguard.base.errors import InputError, SizeguardError
from sizeguard.base.files import is_there
from sizeguard.cli.exit_codes import BY_VERDICT
from sizeguard.cli.image_options import (
    ImageOptions,
    Output,
    evidence_options,
    filters_option,
    levels_of,
    levels_option,
    output_options,
    rows_option,
)
from sizeguard.cli.option_groups import NamedPath

if TYPE_CHECKING:
    from sizeguard.diff.diff_result import Diff
    from sizeguard.gate.fail_if import Judged


def _coloured(line: str) -> str:
    """Colour the verdict that a line on stderr begins with."""
    from sizeguard.report.writers.style import VERDICT_LOOKS, Style, wants_colour

    verdict, _, rest = line.partition(" ")
    style = Style(colour=wants_colour(is_terminal=sys.stderr.isatty()))
    return f"{style.paint(verdict, VERDICT_LOOKS.get(verdict, ''))} {rest}"


def _file(context: click.Context, parameter: click.Parameter, path: Path) -> Path:
    """Return the path. Raises InputError for a commit or branch in place of a file."""
    if is_there(path) or "!" in str(path) or context.resilient_parsing:
        return path
    # Imported for missing files only: 5 ms.
    from sizeguard.git.git import git

    try:
        git(
            Path.cwd(), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{path}^{{commit}}"
        )
    except SizeguardError:
        return path  # it is no commit, or there is no repository
    raise InputError(
        f"{path}: no such file, but a commit; sizeguard gate --base {path} compares with a commit,"
        " and sizeguard bisect GOOD BAD finds the commits that changed the size"
    )


@click.command()
@click.argument("old", type=NamedPath(path_type=Path), metavar="OLD", callback=_file)
@click.argument("new", type=NamedPath(path_type=Path), metavar="NEW", callback=_file)
@levels_option("depends on OLD.")
@rows_option
@click.option(
    "--metric",
    type=click.Choice(["load", "file", "ram"]),
    default="load",
    show_default=True,
    help="Metric to compare.",
)
@filters_option
@click.option(
    "--fail-if",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Exit with 1 if this is true: 'load > +1%', 'file > 2MiB', 'symbol/std::regex* > 0'.",
)
@output_options
@evidence_options
@click.pass_context
def command(
    context: click.Context,
    old: Path,
    new: Path,
    by: str | None,
    limit: int,
    metric: str,
    filters: tuple[str, ...],
    conditions: tuple[str, ...],
    output: Output,
    evidence: ImageOptions,
) -> None:
    """Show what changed between two images, builds or snapshots, each change with its cause.

    The rows sum to the difference. --fail-if sets a limit without a configuration file: +SIZE
    limits growth, SIZE limits NEW.

    Clones (.cold, .isra.0, .llvm.…) and hashes in names do not count as new names. Names of folded
    functions count as one. Code that another object defines now counts as moved. --objects, --map
    and --debug-file are for NEW; prefer a build or a snapshot for OLD.

    \b
    Examples:
      sizeguard diff old/build/vision build/vision --by operator,dtype
      sizeguard diff yesterday.snapshot libtorch_cpu.so --by symbol -n 50
      sizeguard diff a b --by section --metric file --format markdown
      sizeguard diff a b --fail-if 'load > +1%' --fail-if 'ram > +max(1%, 512B)'
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.attribution.analysis import Analysis
    from sizeguard.attribution.group import default_levels, require_regions
    from sizeguard.attribution.known_labels import KnownLabels
    from sizeguard.attribution.owners.inline_pieces import DEFAULT, levels_asked
    from sizeguard.builds.open_build import open_alike
    from sizeguard.diff.compare import diff_of
    from sizeguard.report.diff.render import diff_chunks

    of_old = replace(evidence, objects=(), map=None, debug_file=None)
    known = KnownLabels()
    given = levels_of(by) if by is not None else []
    asked = levels_asked(given or [DEFAULT], filters)
    judged = _judged(conditions)
    if judged is not None:
        asked |= judged.levels
    if not filters and judged is None and of_old == evidence and open_alike(old, new):
        result = _without_change(old, new, evidence, given, metric)
        output.emit(diff_chunks(result, output.format, limit, output.style()))
        return

    def opened(path: Path, options: ImageOptions, *, is_new: bool) -> Analysis:
        analysis = options.analysis_of(path, known, asked)
        require_regions(analysis, given)
        if judged is not None:
            judged.measure(analysis, is_new=is_new)
        return analysis

    first = [opened(old, of_old, is_new=False)]
    result = diff_of(
        first.pop,  # diff_of alone refers to it, and can free it before the new image is read
        lambda: opened(new, evidence, is_new=True),
        given or default_levels(first[0]),
        filters,
        metric,
    )
    output.emit(diff_chunks(result, output.format, limit, output.style()))
    if judged is not None:
        for line in judged.lines():
            click.echo(_coloured(line), err=True)
        context.exit(BY_VERDICT[judged.verdict])


def _judged(conditions: Sequence[str]) -> Judged | None:
    """Parse the conditions of --fail-if; None if there are none."""
    if not conditions:
        return None
    from sizeguard.gate.fail_if import Judged  # 50 ms

    return Judged(conditions)


def _without_change(
    old: Path, new: Path, evidence: ImageOptions, given: Sequence[str], metric: str
) -> Diff:
    """Return the diff of paths that open alike; only one of them is read."""
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.attribution.group import default_levels, require_regions
    from sizeguard.diff.equal_images import diff_of_equals

    analysis = evidence.analysis_of(old, levels={"region"} & set(given))
    require_regions(analysis, given)
    image = analysis.image
    other = image if old == new else replace(image, path=str(new), title=new.name)
    return diff_of_equals(image, other, given or default_levels(analysis), metric)
