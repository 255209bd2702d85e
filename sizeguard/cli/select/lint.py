"""The command `sizeguard select lint`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizeguard.cli.select.options import FILE, FORMAT
from sizeguard.cli.source_option import RUNTIME_SOURCE

if TYPE_CHECKING:
    from sizeguard.selection.lint_rules import HasPlace


@click.command()
@click.argument("selections", nargs=-1, required=True, type=FILE, metavar="SELECTION...")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option(
    "--operators-yaml",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="The operators that there are, instead of the runtime's.",
)
@click.option(
    "--kernel-sources",
    multiple=True,
    type=FILE,
    metavar="DIR",
    help="Where the dtype switches are, instead of the runtime's.",
)
@RUNTIME_SOURCE
@click.option("--format", "format_", type=FORMAT, default="terminal", show_default=True)
def command(
    selections: tuple[Path, ...],
    strict: bool,
    operators_yaml: tuple[Path, ...],
    kernel_sources: tuple[Path, ...],
    runtime_source: Path | None,
    format_: str,
) -> None:
    """Check selection files, one by one and as they would be merged: exit 1 if one has an error.

    Without the runtime's sources operators and kernel tags are those of this package: the names of
    the full build that it was released with. Tags of other operators are then not looked up.

    Example: sizeguard select lint --strict native/apps/vision/selected_operators.yaml
    """
    # Imported on call: `sizeguard --help` takes 0.05 s, with the imports of all commands 0.6 s.
    from sizeguard.base.errors import GateError
    from sizeguard.operators.library import read_operator_libraries
    from sizeguard.projects.root import find_sources
    from sizeguard.report.selection.lint_findings import findings_text, summary
    from sizeguard.runtimes.known import kernel_tags, library, source_tree, switches_in
    from sizeguard.selection.lint_rules import has_errors
    from sizeguard.selection.lint_rules import lint as lint_selections
    from sizeguard.selection.read import read_selection

    files = [read_selection(path) for path in selections]
    sources = find_sources(runtime_source)
    operators = read_operator_libraries(operators_yaml) if operators_yaml else library(sources)
    switches: dict[str, Sequence[HasPlace]] | None = None
    if kernel_sources:
        switches = {**switches_in(kernel_sources)}
    elif not operators_yaml or sources is not None:
        switches = dict.fromkeys(kernel_tags(sources), ())
        switches |= source_tree(sources)[1].switches() if sources is not None else {}
    findings = lint_selections(files, operators, switches)
    click.echo(findings_text(findings, format_))
    if has_errors(findings, strict=strict):
        raise GateError(f"{', '.join(map(str, selections))}: {summary(findings)}")
