"""The command `sizeguard trace`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.cli.option_groups import FILE, WrittenPath
from sizeguard.cli.project_options import RUNTIME_SOURCE


@click.command()
@click.argument(
    "models",
    nargs=-1,
    required=True,
    type=FILE,
    metavar="MODEL...",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=WrittenPath(),
    metavar="FILE",
    help="The selection to write.",
)
@RUNTIME_SOURCE
@click.option(
    "--executed-only",
    is_flag=True,
    help="Leave out operators that a model names but no input reached.",
)
@click.option(
    "--build-feature",
    "features",
    multiple=True,
    metavar="NAME",
    help="Also select this build feature, such as verbose_errors or profiling.",
)
def command(
    models: tuple[Path, ...],
    output: Path,
    runtime_source: Path | None,
    executed_only: bool,
    features: tuple[str, ...],
) -> None:
    """Run models on the instrumented build, and write the parts that they used.

    That is their operators, dtypes, classes and features. Use --build-feature for features that no
    model run uses, such as error messages.

    A MODEL is a program with bundled inputs (.sgp), or a .pt2 with case0_input0.npy … beside it.

    Example: sizeguard trace models/*/model.pt2 -o selected_operators.yaml
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.base.nearest import did_you_mean
    from sizeguard.projects.root import build_root, source_root
    from sizeguard.report.writers.printable import counted, plain_text
    from sizeguard.runtimes.known import selectable
    from sizeguard.runtimes.sizeguard.building.tracing import trace

    source = source_root(runtime_source)
    known = selectable(source).features
    for name in features:
        if known is not None and name not in known:
            hint = did_you_mean(name, sorted(known))
            raise InputError(f"--build-feature: unknown build feature '{name}'{hint}")
    selection = trace(
        source,
        models,
        output,
        executed_only=executed_only,
        root=build_root(),
        features=features,
    )
    traced = f"{len(selection.operators)} operators of {counted(len(models), 'model')}"
    click.echo(plain_text([f"wrote {output}: {traced}"]), err=True)
