"""Print the path of the sizeguard.yaml that a result depends on."""

from __future__ import annotations

from pathlib import Path

import click


def print_policy(root: Path, *, in_result: bool = True) -> None:
    """Print the path of a project's sizeguard.yaml in the line before a result.

    in_result: the result is text for people on stdout, so the line goes there, too; with other
               results, such as JSON or a line for a commit message, it goes to stderr
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.projects.project import CONFIG
    from sizeguard.report.writers.printable import plain_text

    click.echo(plain_text([f"policy: {root / CONFIG}"]), err=not in_result)
