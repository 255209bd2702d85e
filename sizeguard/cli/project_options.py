"""Options that name parts of a project: its apps, its targets, the runtime's sources."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli import candidates

RUNTIME_SOURCE = click.option(
    "--runtime-source",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder that contains the runtime's sources in native/. Default: the project's.",
)
only_apps = click.option(
    "--app",
    "apps",
    multiple=True,
    metavar="NAME",
    help="Only this app of sizeguard.yaml. May be given again.",
    shell_complete=candidates.one_of(candidates.apps),
)
only_targets = click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="NAME",
    help="Only this target of sizeguard.yaml. May be given again.",
    shell_complete=candidates.one_of(candidates.targets),
)
