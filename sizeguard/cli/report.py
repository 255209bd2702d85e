"""Turns the command line of `sizeguard report` into one report."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="IMAGE|BUILD")
@click.option(
    "--by", default="operator", show_default=True, metavar="A,B", help="Levels: operator kernel dtype kind section symbol object."
)
@click.option("-n", "limit", default=0, type=click.IntRange(min=0), help="Rows to show; 0 for all. JSON and CSV are never cut.")
@click.option("--format", "format_", type=click.Choice(["terminal", "json", "csv", "markdown"]), default="terminal", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write there instead of to the terminal.")
def command(path: Path, by: str, limit: int, format_: str, output: Path | None) -> None:
    """Show where the bytes went. Of a build (its folder or build.json) the shipped file is shown, by operator from its objects;
    of a binary alone, by the names of its symbols.

    Example: sizeguard report build/vision --by operator,dtype -n 20
    """
    from sizeguard.attribution.image import report_of
    from sizeguard.files import write_atomic
    from sizeguard.report.sizes import report_text

    text = report_text(report_of(path, tuple(by.split(","))), format_, limit)
    if output is None:
        click.echo(text)
    else:
        write_atomic(output, text + "\n")
