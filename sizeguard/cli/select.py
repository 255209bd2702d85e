"""Turns the command line of `sizeguard select` into calls that read, unite and check operator selections."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(path_type=Path)
FORMAT = click.Choice(("terminal", "json", "markdown", "csv"))


@click.group()
def command() -> None:
    """Read operator selections out of models, unite them and check them.

    Example: sizeguard select ops vision.pt2 -o selected_operators.yaml
    """


@command.command()
@click.argument("models", nargs=-1, type=FILE, metavar="MODEL...")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write the operators as a selection.")
@click.option("--format", "format_", type=FORMAT, default="terminal", show_default=True)
@click.option("--list", "list_all", is_flag=True, help="Print every operator that the runtime supports.")
def ops(models: tuple[Path, ...], output: Path | None, format_: str, list_all: bool) -> None:
    """Print the operators that models (.sgp, .pt2, .pte, .ptl) name, with the dtypes of the tensors at their calls.

    The selection that -o writes has the models' root operators. Operators that only other operators call, and the dtypes inside
    of kernels, are not in a model file: `sizeguard trace` finds them by running. Until then every dtype, class and feature is
    kept (include_all_non_op_selectives), except for ExecuTorch's programs, whose kernel keys say all.

    Example: sizeguard select ops vision.pt2 keywords.sgp -o selected_operators.yaml
    """
    from sizeguard.model_import.importer import default_library
    from sizeguard.report.operators import library_text, model_operators_text
    from sizeguard.selection.from_models import read_models, selection_of_models
    from sizeguard.selection.yaml_writer import write_selection

    if list_all == bool(models):
        raise click.UsageError("give one or more models, or --list")
    if list_all:
        click.echo(library_text(default_library().values(), format_))
        return
    infos = read_models(models)
    if output is not None:
        write_selection(output, selection_of_models(infos))
    click.echo(model_operators_text(infos, format_))


@command.command()
@click.argument("selections", nargs=-1, required=True, type=FILE, metavar="SELECTION...")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write here instead of to standard output.")
def merge(selections: tuple[Path, ...], output: Path | None) -> None:
    """Unite selection files, and say on stderr which of them widened the result.

    Example: sizeguard select merge vision.yaml speech.yaml -o selected_operators.yaml
    """
    from sizeguard.selection.merge import describe
    from sizeguard.selection.merge import merge as merge_selections
    from sizeguard.selection.yaml_reader import read_selection
    from sizeguard.selection.yaml_writer import format_selection, write_selection

    merged = merge_selections([(str(path), read_selection(path).selection) for path in selections])
    for line in describe(merged):
        click.echo(line, err=True)
    if output is None:
        click.echo(format_selection(merged.selection), nl=False)
    else:
        write_selection(output, merged.selection)


@command.command()
@click.argument("selections", nargs=-1, required=True, type=FILE, metavar="SELECTION...")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--operators-yaml", multiple=True, type=FILE, metavar="FILE", help="The operators that there are, instead of the runtime's.")
@click.option("--kernel-sources", multiple=True, type=FILE, metavar="DIR", help="Where the dtype switches are, instead of the runtime's.")
@click.option("--format", "format_", type=FORMAT, default="terminal", show_default=True)
def lint(
    selections: tuple[Path, ...], strict: bool, operators_yaml: tuple[Path, ...], kernel_sources: tuple[Path, ...], format_: str
) -> None:
    """Check selection files, one by one and as they would be merged: exit 1 if one has an error.

    Example: sizeguard select lint --strict native/apps/vision/selected_operators.yaml
    """
    from sizeguard.codegen.tags import scan_tags
    from sizeguard.errors import GateError
    from sizeguard.model_import.importer import OPERATOR_FILES
    from sizeguard.operator_library import read_operator_libraries
    from sizeguard.report.findings import findings_text, summary
    from sizeguard.selection.lint import has_errors
    from sizeguard.selection.lint import lint as lint_selections
    from sizeguard.selection.yaml_reader import read_selection

    files = [read_selection(path) for path in selections]
    operators = read_operator_libraries(operators_yaml or OPERATOR_FILES)
    switches = scan_tags(kernel_sources or [file.parent for file in OPERATOR_FILES])
    findings = lint_selections(files, operators, switches)
    click.echo(findings_text(findings, format_))
    if has_errors(findings, strict=strict):
        raise GateError(f"{', '.join(map(str, selections))}: {summary(findings)}")
