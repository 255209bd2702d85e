"""The command `sizeguard select lint`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli.select.options import FILE, FORMAT
from sizeguard.cli.source_option import RUNTIME_SOURCE


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

    Example: sizeguard select lint --strict native/apps/vision/selected_operators.yaml
    """
    # Imported on call: `sizeguard --help` takes 0.05 s, with the imports of all commands 0.6 s.
    from sizeguard.base.errors import GateError
    from sizeguard.operators.library import read_operator_libraries
    from sizeguard.projects.root import find_sources, source_root
    from sizeguard.report.selection.lint_findings import findings_text, summary
    from sizeguard.runtimes.known import library, source_tree, switches_in
    from sizeguard.selection.lint_rules import has_errors
    from sizeguard.selection.lint_rules import lint as lint_selections
    from sizeguard.selection.read import read_selection

    files = [read_selection(path) for path in selections]
    operators = (
        read_operator_libraries(operators_yaml)
        if operators_yaml
        else library(find_sources(runtime_source))
    )
    switches = (
        switches_in(kernel_sources)
        if kernel_sources
        else source_tree(source_root(runtime_source))[1].switches()
    )
    findings = lint_selections(files, operators, switches)
    click.echo(findings_text(findings, format_))
    if has_errors(findings, strict=strict):
        raise GateError(f"{', '.join(map(str, selections))}: {summary(findings)}")
