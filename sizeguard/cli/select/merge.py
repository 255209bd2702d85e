"""The command `sizeguard select merge`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli.option_groups import FILE
from sizeguard.cli.select.options import WRITTEN


@click.command()
@click.argument("selections", nargs=-1, required=True, type=FILE, metavar="SELECTION...")
@click.option(
    "-o", "--output", type=WRITTEN, metavar="FILE", help="Write here instead of to standard output."
)
def command(selections: tuple[Path, ...], output: Path | None) -> None:
    """Merge selection files, and list on stderr those that widened the result.

    Example: sizeguard select merge vision.yaml speech.yaml -o selected_operators.yaml
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.report.writers.printable import plain_text
    from sizeguard.selection.read import read_selection
    from sizeguard.selection.union import describe
    from sizeguard.selection.union import merge as merge_selections
    from sizeguard.selection.write import format_selection, write_selection

    merged = merge_selections([(str(path), read_selection(path).selection) for path in selections])
    for line in describe(merged):
        click.echo(plain_text([line]), err=True)
    if output is None:
        click.echo(format_selection(merged.selection), nl=False)
    else:
        write_selection(output, merged.selection)
