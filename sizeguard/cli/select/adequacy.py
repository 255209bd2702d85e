"""The command `sizeguard select adequacy`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.base.errors import GateError
from sizeguard.cli.option_groups import FILE, OUTPUT_FILE, NamedPath, print_result
from sizeguard.cli.project_options import RUNTIME_SOURCE
from sizeguard.cli.select.options import DISPATCHER, FORMAT, FULL


@click.command()
@click.argument("model", type=FILE)
@FULL
@click.option(
    "--trace",
    "traced",
    type=NamedPath(path_type=Path, exists=True, dir_okay=False),
    metavar="SELECTION",
    help="Selection made by trace --executed-only. Default: trace now.",
)
@DISPATCHER
@RUNTIME_SOURCE
@FORMAT
@OUTPUT_FILE
def command(
    model: Path,
    full: Path | None,
    traced: Path | None,
    dispatcher: tuple[str, ...],
    runtime_source: Path | None,
    format_: str,
    file: Path | None,
) -> None:
    """List the branches that a model can reach but that no input of its trace took.

    Exit with 1 if the trace used something that the model cannot reach; then the build and the
    trace belong to different runtimes.

    Example: sizeguard select adequacy branchy/model.pt2 --build build/full
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    import tempfile

    from sizeguard.predict.coverage import adequacy as compare
    from sizeguard.predict.full_build import read_full_build
    from sizeguard.projects.root import build_root, find_sources_of, full_build, source_root
    from sizeguard.report.selection.reach_tables import adequacy_text
    from sizeguard.runtimes.known import model_reader, models_of
    from sizeguard.selection.read import read_selection

    place = full_build(full, "--build")
    build = read_full_build(place, dispatcher)
    with tempfile.TemporaryDirectory() as folder:
        if traced is not None:
            models = model_reader(find_sources_of(place, runtime_source))
            program, trace = models.prepare(model, Path(folder)), traced
        else:
            root = build_root()
            models = models_of(root, source_root(runtime_source))
            program = models.prepare(model, root / "build" / "programs")
            trace = Path(folder) / "traced.yaml"
            models.trace(models.tracer(root), [program], trace, executed_only=True)
        selection = read_selection(trace).selection
        # A trace names the program of a model.
        result = compare(build, models.operators(program), selection)
    print_result(adequacy_text(result, format_), file)
    if not result.is_contained:
        wrong = len(result.observed_not_reachable) + len(result.dtypes_observed_not_reachable)
        raise GateError(
            f"{model}: the trace saw {wrong} operators or dtypes that the graph does not reach"
        )
