"""Options shared by sub-commands of select."""

from __future__ import annotations

import click

from sizeguard.cli.option_groups import PATH, WrittenPath, format_option
from sizeguard.report.result_formats import TABLE_FORMATS

WRITTEN = WrittenPath()
FORMAT = format_option(TABLE_FORMATS)
FULL = click.option(
    "--full",
    "--build",
    "full",
    type=PATH,
    metavar="BUILD",
    help="The full build. Default: build/full.",
)
DISPATCHER = click.option(
    "--dispatcher",
    multiple=True,
    metavar="FUNCTION",
    help="A function that takes an operator's name, instead of the runtime's.",
)
