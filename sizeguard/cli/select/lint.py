"""The command `sizeguard select lint`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizeguard.base.errors import GateError
from sizeguard.cli.option_groups import FILE, OUTPUT_FILE, PATH, print_result
from sizeguard.cli.project_options import RUNTIME_SOURCE
from sizeguard.cli.select.options import FORMAT

if TYPE_CHECKING:
    from sizeguard.selection.lint_rules import HasPlace


@click.command()
@click.argument("selections", nargs=-1, required=True, type=FILE, metavar="SELECTION...")
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--operators-yaml",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Operators to use instead of the runtime's.",
)
@click.option(
    "--kernel-sources",
    multiple=True,
    type=PATH,
    metavar="DIR",
    help="Folders with dtype switches, instead of the runtime's.",
)
@RUNTIME_SOURCE
@FORMAT
@OUTPUT_FILE
def command(
    selections: tuple[Path, ...],
    strict: bool,
    operators_yaml: tuple[Path, ...],
    kernel_sources: tuple[Path, ...],
    runtime_source: Path | None,
    format_: str,
    file: Path | None,
) -> None:
    """Check selection files, one by one and merged; exit with 1 if there is an error.

    Operators, kernel tags, dtypes, classes and build features are looked up. Without the runtime's
    sources, the names come from the full build of this release. Tags and classes of other operators
    are then not checked.

    Example: sizeguard select lint --strict native/apps/vision/selected_operators.yaml
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.operators.library import read_operator_libraries
    from sizeguard.projects.root import find_sources
    from sizeguard.report.selection.lint_findings import findings_text, summary
    from sizeguard.runtimes.known import selectable, source_tree, switches_in
    from sizeguard.selection.lint_rules import has_errors
    from sizeguard.selection.lint_rules import lint as lint_selections
    from sizeguard.selection.read import read_selection
    from sizeguard.selection.selectable import Selectable

    files = [read_selection(path) for path in selections]
    sources = find_sources(runtime_source)
    known = selectable(sources, kernel_sources)
    places: Mapping[str, Sequence[HasPlace]] = {}
    if kernel_sources:
        places = switches_in(kernel_sources)
    elif sources is not None:
        places = source_tree(sources)[1].switches()
    elif operators_yaml:
        known = Selectable(known.operators, features=known.features)
    if operators_yaml:
        known = replace(known, operators=read_operator_libraries(operators_yaml))
    findings = lint_selections(files, known, places)
    print_result(findings_text(findings, format_), file)
    if has_errors(findings, strict=strict):
        raise GateError(f"{', '.join(map(str, selections))}: {summary(findings)}")
