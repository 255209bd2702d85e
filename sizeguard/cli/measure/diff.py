"""The command `sizeguard diff`."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizeguard.attribution.levels import METRICS
from sizeguard.base.errors import InputError, SizeguardError
from sizeguard.base.files import is_there
from sizeguard.base.tuning import skip_imported
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
from sizeguard.cli.option_groups import PATH

if TYPE_CHECKING:
    from sizeguard.attribution.analysis import Analysis
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
@click.argument("old", type=PATH, metavar="OLD", callback=_file)
@click.argument("new", type=PATH, metavar="NEW", callback=_file)
@levels_option("depends on OLD.")
@rows_option
@click.option(
    "--metric",
    type=click.Choice(METRICS),
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
    from sizeguard.attribution.group import default_levels
    from sizeguard.attribution.owners.inline_pieces import DEFAULT, levels_asked
    from sizeguard.builds.open_build import open_alike
    from sizeguard.diff.compare import diff_of
    from sizeguard.report.diff.render import diff_chunks
    from sizeguard.snapshots.magic import is_snapshot

    of_old = evidence.of_old(old)
    given = levels_of(by) if by is not None else []
    asked = levels_asked(given or [DEFAULT], filters)
    judged = _judged(conditions)
    if judged is not None:
        asked |= judged.levels
    if not filters and judged is None and of_old == evidence and open_alike(old, new):
        result = _without_change(old, new, evidence, given, metric)
        output.emit(diff_chunks(result, output.format, limit, output.style()))
        return

    skip_imported()
    loaded_only = metric != "file" and not filters and judged is None
    sides = _Sides(given, asked, judged, loaded_only=loaded_only)
    first = [sides.opened(old, of_old, is_new=False)]
    result = diff_of(
        first.pop,  # diff_of alone refers to it, and can free it before the new image is read
        lambda: sides.opened(new, evidence, is_new=True),
        given or default_levels(first[0]),
        filters,
        metric,
    )
    output.emit(diff_chunks(result, output.format, limit, output.style()))
    if "operator" in result.by and not (is_snapshot(old) or is_snapshot(new)):
        _tell_evidence(sides.by_link)
    if judged is not None:
        for line in judged.lines():
            click.echo(_coloured(line), err=True)
        context.exit(BY_VERDICT[judged.verdict])


class _Sides:
    """Opens OLD, then NEW, whose equal names are looked up once.

    by_link: OLD or NEW → whether its operators are known from its link
    """

    def __init__(
        self,
        given: Sequence[str],
        asked: Collection[str],
        judged: Judged | None,
        *,
        loaded_only: bool,
    ) -> None:
        from sizeguard.attribution.known_labels import KnownLabels

        self._given, self._asked, self._judged = given, asked, judged
        self._loaded_only = loaded_only
        self._known = KnownLabels()
        self.by_link: dict[str, bool] = {}

    def opened(self, path: Path, options: ImageOptions, *, is_new: bool) -> Analysis:
        """Analyse one of the two, and measure it for --fail-if."""
        from sizeguard.attribution.group import require_regions

        analysis = options.analysis_of(
            path, self._known, self._asked, loaded_only=self._loaded_only
        )
        self.by_link["NEW" if is_new else "OLD"] = analysis.users is not None
        require_regions(analysis, self._given)
        if self._judged is not None:
            self._judged.measure(analysis, is_new=is_new)
        return analysis


def _tell_evidence(by_link: Mapping[str, bool]) -> None:
    """Say on stderr that operators of the two images are known from different evidence."""
    names = [which for which, known in by_link.items() if not known]
    if len(names) == 1:
        links = "OLD" if names == ["NEW"] else "NEW"
        click.echo(
            f"note: operators of {names[0]} are read from its names, those of {links} from its"
            " link; code that only the link attributes shows as a change. Compare two builds, or"
            " two images.",
            err=True,
        )


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
