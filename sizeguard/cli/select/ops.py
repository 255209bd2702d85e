"""The command `sizeguard select ops`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli.lazy_group import screen_width
from sizeguard.cli.option_groups import FILE
from sizeguard.cli.project_options import RUNTIME_SOURCE
from sizeguard.cli.select.options import FORMAT, WRITTEN


@click.command()
@click.argument("models", nargs=-1, type=FILE, metavar="MODEL...")
@click.option(
    "-o", "--output", type=WRITTEN, metavar="FILE", help="Write the operators as a selection."
)
@FORMAT
@RUNTIME_SOURCE
@click.option(
    "--list", "list_all", is_flag=True, help="Print every operator that the runtime supports."
)
def command(
    models: tuple[Path, ...],
    output: Path | None,
    format_: str,
    runtime_source: Path | None,
    list_all: bool,
) -> None:
    """Print the operators that models (.sgp, .pt2, .pte, .ptl) name, with their tensors' dtypes.

    The selection that -o writes has the models' root operators. A model file does not contain
    operators that only other operators call, nor the dtypes inside kernels: `sizeguard trace` finds
    them by running. Without a trace, every dtype, class and feature is kept
    (include_all_non_op_selectives), except for ExecuTorch programs, which have kernel keys.

    Example: sizeguard select ops vision.pt2 keywords.sgp -o selected_operators.yaml
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.projects.root import find_sources
    from sizeguard.report.selection.operator_lists import library_text, model_operators_text
    from sizeguard.runtimes.known import library
    from sizeguard.runtimes.model_files import read_models
    from sizeguard.selection.of_models import selection_of_models
    from sizeguard.selection.write import write_selection

    if list_all == bool(models):
        raise click.UsageError("give one or more models, or --list")
    if list_all and output is not None:
        raise click.UsageError(
            "-o writes a selection of models; to keep the list: sizeguard select ops --list > FILE"
        )
    source = find_sources(runtime_source)
    if list_all:
        click.echo(library_text(library(source).values(), format_, screen_width()))
        return
    infos = read_models(models, source)
    if output is not None:
        write_selection(output, selection_of_models(infos))
    click.echo(model_operators_text(infos, format_))
