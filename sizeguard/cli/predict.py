"""Turns the command line of `sizeguard predict` into the size of a selection that nobody built."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli.evidence import Output, output_options


@click.command()
@click.option("--selection", type=click.Path(path_type=Path), metavar="FILE", help="The selection; that of --app otherwise.")
@click.option("--app", default="", help="An app whose selection is checked in.")
@click.option("--full", type=click.Path(path_type=Path), metavar="BUILD", help="The full build; build/full otherwise.")
@click.option("--no-dtypes", "dtypes", flag_value=False, default=True, help="Keep all dtypes of the selected operators.")
@click.option("--add", multiple=True, metavar="OP[:DTYPE]", help="What if this operator, with all that it calls, were selected, too?")
@click.option("--drop", multiple=True, metavar="MODEL", help="What if this model were gone?")
@click.option("-n", "limit", default=15, show_default=True, type=click.IntRange(min=0), help="Operators to show; 0 for all.")
@output_options
def command(
    selection: Path | None,
    app: str,
    full: Path | None,
    dtypes: bool,
    add: tuple[str, ...],
    drop: tuple[str, ...],
    limit: int,
    output: Output,
) -> None:
    """Predict the size of a selective build from the full build alone: nothing is compiled, no source is read.

    The link is modelled exactly; of the compiler only what the documentation lists, so dtypes come with a margin. What a
    selection changes inside of functions that stay, by inlining or a smaller switch, cannot be seen.

    \b
    Examples:
      sizeguard predict --app vision
      sizeguard predict --selection selected_operators.yaml --add aten::gelu:Float --drop encoder
    """
    from sizeguard.attribution.predict import predict, predictor_of
    from sizeguard.errors import InputError
    from sizeguard.project import project_root
    from sizeguard.report.predict import prediction_chunks
    from sizeguard.selection.yaml_reader import read_selection

    if (selection is None) == (not app):
        raise InputError("give --selection FILE or --app NAME")
    path = selection or project_root() / "native" / "apps" / app / "selected_operators.yaml"
    predictor = predictor_of(full or project_root() / "build" / "full")
    result = predict(predictor, read_selection(path).selection, app or str(path), dtypes=dtypes, add=add, drop=drop)
    output.emit(prediction_chunks(result, output.format, limit, output.style()))
