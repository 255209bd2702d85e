"""The command `sizeguard import`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.cli.option_groups import FILE, WrittenPath
from sizeguard.cli.project_options import RUNTIME_SOURCE


@click.command(name="import")
@click.argument("model", type=FILE)
@click.option(
    "-o",
    "--output",
    type=WrittenPath(),
    metavar="FILE",
    required=True,
    help="The program to write (.sgp).",
)
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="A.npy,B.npy",
    help="Bundle an input: one array for each input of the model.",
)
@click.option(
    "--cases-beside",
    is_flag=True,
    help="Bundle the inputs beside the model: case0_input0.npy, case0_input1.npy, case1_…",
)
@click.option(
    "--prepack",
    is_flag=True,
    help="Lay out the weights of linear layers when the program is loaded.",
)
@click.option(
    "--operators-yaml",
    "operator_files",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Operators to use instead of the runtime's own.",
)
@RUNTIME_SOURCE
def command(
    model: Path,
    output: Path,
    cases: tuple[str, ...],
    cases_beside: bool,
    prepack: bool,
    operator_files: tuple[Path, ...],
    runtime_source: Path | None,
) -> None:
    """Convert a model that torch.export.save wrote to a program that run_program runs.

    Example: sizeguard import vision.pt2 -o vision.sgp --case image0.npy --case image1.npy
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.operators.library import read_operator_libraries
    from sizeguard.projects.root import find_sources
    from sizeguard.report.writers.printable import counted, plain_text
    from sizeguard.runtimes.known import library
    from sizeguard.runtimes.sizeguard.building.programs import cases_beside as inputs_beside
    from sizeguard.runtimes.sizeguard.importing.importer import import_model
    from sizeguard.runtimes.sizeguard.native_tree import op_deps
    from sizeguard.runtimes.sizeguard.program.program_file import write_program

    _check_kind(model)
    if output.suffix.lower() in (".pt2", ".pte", ".ptl"):
        raise InputError(f"--output: {output}: a program is not named as a model; use .sgp")
    source = find_sources(runtime_source)
    operators = read_operator_libraries(operator_files) if operator_files else library(source)
    arrays = [[Path(name) for name in case.split(",")] if case else [] for case in cases]
    if cases_beside:
        beside = inputs_beside(model)
        if not beside:
            raise InputError(
                f"{model}: has no inputs to run: put case0_input0.npy beside the model"
            )
        arrays += beside
    imported = import_model(
        model, operators, output.stem, arrays, prepack, op_deps(None if operator_files else source)
    )
    for warning in imported.warnings:
        click.echo(plain_text([f"warning: {warning}"]), err=True)
    write_program(imported.program, output)
    program = imported.program
    counts = (
        (len(program.operators), "operator"),
        (len(program.instructions), "instruction"),
        (len(program.cases), "bundled case"),
    )
    said = ", ".join(counted(count, what) for count, what in counts)
    click.echo(plain_text([f"wrote {output}: {said}"]), err=True)


def _check_kind(model: Path) -> None:
    """Raise InputError for a model that is not an exported one, by its suffix or beginning."""
    from sizeguard.formats.describe import describe_file
    from sizeguard.formats.sniff import ZIP, image_format
    from sizeguard.runtimes.model_files import READERS

    suffix = model.suffix.lower()
    if suffix in READERS and suffix not in (".sgp", ".pt2"):
        raise InputError(
            f"{model}: a {suffix} file, but import takes a .pt2 file, as torch.export.save writes "
            "it; sizeguard select ops lists its operators"
        )
    if suffix == ".sgp":
        raise InputError(f"{model}: is already a program; run_program --program {model} runs it")
    if image_format(model) != ZIP:
        raise InputError(f"{model}: not an exported model (.pt2): {describe_file(model)}")
