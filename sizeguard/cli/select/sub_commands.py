"""The command `sizeguard select`, a group of sub-commands."""

from __future__ import annotations

import click

from sizeguard.cli.lazy_group import LazyGroup

COMMANDS = {
    "ops": ("select.ops", "Print the operators that models name."),
    "static": ("select.static", "Print the operators that models can reach."),
    "adequacy": ("select.adequacy", "List reachable branches that no trace took."),
    "merge": ("select.merge", "Merge selection files."),
    "lint": ("select.lint", "Check selection files."),
    "names": ("select.names", "Write the names that can be selected."),
    "update": ("select.update", "Trace an app's models again, and add the parts that they used."),
}


@click.group(cls=LazyGroup, sections={"Commands": COMMANDS}, path="select")
def command() -> None:
    """Read operator selections from models, merge them and check them.

    Example: sizeguard select ops vision.pt2 -o selected_operators.yaml
    """
