"""Turns the options of `sizeguard import` into a program file."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="import")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The program to write (.sgp).")
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="A.npy,B.npy",
    help="Bundle an input: one array for each input of the model. May be given again.",
)
@click.option("--prepack", is_flag=True, help="Lay out the weights of linear layers when the program is loaded.")
@click.option(
    "--operators-yaml",
    "operator_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The operators that there are, instead of the runtime's own. May be given again.",
)
def command(model: Path, output: Path, cases: tuple[str, ...], prepack: bool, operator_files: tuple[Path, ...]) -> None:
    """Turn a model that torch.export.save wrote into a program that run_program runs.

    Example: sizeguard import vision.pt2 -o vision.sgp --case image0.npy --case image1.npy
    """
    from sizeguard.model_import.importer import default_library, import_model
    from sizeguard.model_import.program_file import write_program
    from sizeguard.operator_library import read_operator_libraries

    library = read_operator_libraries(operator_files) if operator_files else default_library()
    arrays = [[Path(name) for name in case.split(",")] if case else [] for case in cases]
    imported = import_model(model, library, output.stem, arrays, prepack)
    for warning in imported.warnings:
        click.echo(f"warning: {warning}", err=True)
    write_program(imported.program, output)
