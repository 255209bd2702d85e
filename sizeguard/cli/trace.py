"""Turns the command line of `sizeguard trace` into one call of the tracer's driver."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="MODEL...")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="The selection to write.")
@click.option("--executed-only", is_flag=True, help="Leave out operators that a model names but no input reached.")
def command(models: tuple[Path, ...], output: Path, executed_only: bool) -> None:
    """Run models on the instrumented build and write the operators, dtypes, classes and features that they used.

    A MODEL is a program with bundled inputs (.sgp), or a .pt2 with case0_input0.npy … beside it.

    Example: sizeguard trace models/*/model.pt2 -o selected_operators.yaml
    """
    from sizeguard.build.trace import trace
    from sizeguard.project import project_root

    trace(project_root(), models, output, executed_only=executed_only)
