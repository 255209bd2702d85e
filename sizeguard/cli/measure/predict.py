"""The command `sizeguard predict`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.cli import candidates
from sizeguard.cli.image_options import Output, output_options
from sizeguard.cli.option_groups import PATH
from sizeguard.cli.project_options import RUNTIME_SOURCE, configured_selection


@click.command()
@click.option(
    "--selection",
    type=PATH,
    metavar="FILE",
    help="The selection. Default: the selection of --app, else everything.",
)
@click.option(
    "--app",
    default="",
    metavar="NAME",
    help="App with a committed selection.",
    shell_complete=candidates.one_of(candidates.apps),
)
@click.option(
    "--full",
    type=PATH,
    metavar="BUILD",
    help="The full build. Default: build/full.",
)
@click.option(
    "--no-dtypes",
    "dtypes",
    flag_value=False,
    default=True,
    help="Keep all dtypes of the selected operators.",
)
@click.option(
    "--add",
    multiple=True,
    metavar="OP[:DTYPE]",
    help="Also select this operator and everything that it calls.",
    shell_complete=candidates.one_of(candidates.operators),
)
@click.option(
    "--drop",
    multiple=True,
    metavar="MODEL",
    help="Leave out the operators and dtypes that only this model needs.",
)
@click.option(
    "-n",
    "limit",
    default=15,
    show_default=True,
    type=click.IntRange(min=0),
    help="Operators and dtype branches to show; 0 for all.",
)
@RUNTIME_SOURCE
@output_options
def command(
    selection: Path | None,
    app: str,
    full: Path | None,
    dtypes: bool,
    add: tuple[str, ...],
    drop: tuple[str, ...],
    limit: int,
    runtime_source: Path | None,
    output: Output,
) -> None:
    """Predict the size of a selective build from the full build.

    Compiles nothing and reads no C++. The link is modelled exactly, but the compiler only in part,
    so predictions for dtypes have a margin. Effects of inlining and smaller switches on the
    remaining functions are not predicted.

    Each operator and each dtype branch has a saving: the bytes that leaving out only this one
    frees, with an interval that contains the saving of a rebuild. A saving is "unknown" with LTO,
    for machines other than x86-64 Linux, for dtypes without debug information, and for the last
    dtype of a switch.

    \b
    Examples:
      sizeguard predict
      sizeguard predict --app vision
      sizeguard predict --selection selected_operators.yaml --add aten::gelu:Float --drop encoder
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.builds.build_record import read_build
    from sizeguard.predict.savings.image_savings import Savings
    from sizeguard.predict.what_if import predict, predictor_of
    from sizeguard.projects.root import find_sources, full_build
    from sizeguard.report.predict.render import prediction_chunks
    from sizeguard.runtimes.known import translated
    from sizeguard.selection.read import read_selection
    from sizeguard.selection.selection import Selection
    from sizeguard.verify.kept_link_check import checked_map

    if selection is not None and app:
        raise InputError("give --selection FILE or --app NAME, not both")
    if app:
        selection = configured_selection(app) or _usual_selection(app, runtime_source)
    asked = Selection(include_all_operators=True)
    if selection is not None:
        asked = translated(find_sources(runtime_source), read_selection(selection).selection)
    build = full_build(full, "--full")
    predictor = predictor_of(build)
    link_map = checked_map(read_build(build))
    result = predict(
        predictor,
        asked,
        app or ("everything" if selection is None else str(selection)),
        dtypes=dtypes,
        add=add,
        drop=drop,
        savings=Savings(predictor, build, link_map),
    )
    output.emit(prediction_chunks(result, output.format, limit, output.style()))


def _usual_selection(app: str, runtime_source: Path | None) -> Path:
    """Return the selection of an app beside the sources; raise InputError without one."""
    from sizeguard.base.nearest import did_you_mean
    from sizeguard.projects.root import source_root
    from sizeguard.runtimes.known import source_tree

    selection = source_tree(source_root(runtime_source))[1].usual_selection(app)
    if not selection.is_file():
        hint = did_you_mean(app, candidates.apps())
        raise InputError(f"--app: no selection of an app '{app}' at {selection}{hint}")
    return selection
