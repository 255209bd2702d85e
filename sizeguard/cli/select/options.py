"""Options shared by sub-commands of select."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli.option_groups import NamedPath, WrittenPath, format_option
from sizeguard.report.result_formats import TABLE_FORMATS

FILE = NamedPath(path_type=Path, dir_okay=False)
WRITTEN = WrittenPath()
FOLDER = NamedPath(path_type=Path)
FORMAT = format_option(TABLE_FORMATS)
DISPATCHER = click.option(
    "--dispatcher",
    multiple=True,
    metavar="FUNCTION",
    help="A function that takes an operator's name, instead of the runtime's.",
)
