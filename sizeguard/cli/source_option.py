"""The option that names the runtime's sources."""

from __future__ import annotations

from pathlib import Path

import click

RUNTIME_SOURCE = click.option(
    "--runtime-source",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder that contains the runtime's sources in native/. Default: the project's.",
)
