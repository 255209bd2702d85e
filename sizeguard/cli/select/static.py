"""The command `sizeguard select static`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli.option_groups import FILE
from sizeguard.cli.project_options import RUNTIME_SOURCE
from sizeguard.cli.select.options import DISPATCHER, FORMAT, FULL, WRITTEN


@click.command()
@click.argument("models", nargs=-1, type=FILE, metavar="MODEL...")
@FULL
@click.option(
    "-o",
    "--output",
    type=WRITTEN,
    metavar="FILE",
    help="Write the reachable operators as a selection.",
)
@click.option(
    "--op-deps",
    type=WRITTEN,
    metavar="FILE",
    help="Write the callees of all operators as an op_deps.yaml for PyTorch.",
)
@DISPATCHER
@RUNTIME_SOURCE
@FORMAT
def command(
    models: tuple[Path, ...],
    full: Path | None,
    output: Path | None,
    op_deps: Path | None,
    dispatcher: tuple[str, ...],
    runtime_source: Path | None,
    format_: str,
) -> None:
    """Print the operators that models can reach.

    These are the named operators and everything that they can call for any input.

    Calls are read from the relocations of the full build's objects. If the model does not determine
    the dtypes of a kernel tag, all are kept. All build features are kept. Unknown calls are listed.

    \b
    Examples:
      sizeguard select static vision.pt2 -o selection.yaml
      sizeguard select static --op-deps op_deps.yaml
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.builds.build_record import read_build
    from sizeguard.predict.full_build import read_full_build
    from sizeguard.predict.reachable import static_selection
    from sizeguard.projects.root import find_sources_of, full_build
    from sizeguard.report.selection.reach_tables import static_text
    from sizeguard.runtimes.known import build_facts
    from sizeguard.runtimes.model_files import read_models
    from sizeguard.selection.op_deps import write_op_deps
    from sizeguard.selection.write import write_selection

    if not models and (op_deps is None or output is not None):
        raise click.UsageError("give one or more models, or only --op-deps FILE")
    place = full_build(full, "--build")
    build = read_full_build(place, dispatcher)
    if op_deps is not None:
        write_op_deps(op_deps, build.op_deps)
    if models:
        infos = read_models(models, find_sources_of(place, runtime_source))
        features = frozenset(build_facts(read_build(place)).features)
        result = static_selection(build, infos, features)
        if output is not None:
            write_selection(output, result.selection)
        click.echo(static_text(result, build.dependencies.calls, format_))
