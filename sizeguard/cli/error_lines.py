"""Print an error as one line."""

from __future__ import annotations

import click

from sizeguard.base.errors import SizeguardError


def print_error(error: SizeguardError | click.ClickException | click.Abort) -> int:
    """Print the error on stderr and return the exit code."""
    if isinstance(error, click.Abort):
        click.echo("interrupted", err=True)
        return 130
    text = error.format_message() if isinstance(error, click.ClickException) else str(error)
    click.echo(f"error: {text}", err=True)
    return error.exit_code if isinstance(error, SizeguardError) else 2
