"""The command `sizeguard app`, a group of sub-commands."""

from __future__ import annotations

import click

from sizeguard.cli.lazy_group import LazyGroup

COMMANDS = {"add": ("setup.app_add", "Add an app for models: trace, select, review, gate.")}


@click.group(cls=LazyGroup, sections={"Commands": COMMANDS}, path="app")
def command() -> None:
    """Add apps to sizeguard.yaml.

    Example: sizeguard app add keywords models/keywords.pt2
    """
