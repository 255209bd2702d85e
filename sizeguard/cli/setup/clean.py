"""The command `sizeguard clean`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli.option_groups import OUTPUT_FILE, format_option, print_result


@click.command()
@click.option(
    "--dry-run", "is_dry", is_flag=True, help="Show what would be removed, and remove nothing."
)
@click.option(
    "--max-size", default="", metavar="SIZE", help="Maximum size of the store, such as 500 MiB."
)
@click.option(
    "--max-age",
    default="",
    metavar="AGE",
    help="Maximum time since the last use, such as 90 days or 12 weeks.",
)
@click.option(
    "--worktrees",
    is_flag=True,
    help="Also remove unused worktrees; later builds start from scratch.",
)
@format_option()
@OUTPUT_FILE
def command(
    is_dry: bool, max_size: str, max_age: str, worktrees: bool, format_: str, file: Path | None
) -> None:
    """Show the store of measurements, and remove entries beyond its limits.

    Limits come from the options, else from `store` in sizeguard.yaml, else they are 2 GiB and 180
    days. Entries that a running process may use are kept. Removed entries are measured again when
    they are needed.

    \b
    Examples:
      sizeguard clean --dry-run
      sizeguard clean --max-size 500MiB --max-age 30d
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.gate.policy.read_limits import store_limits
    from sizeguard.git.worktrees import remove_worktrees
    from sizeguard.measurement.store_place import project_store
    from sizeguard.projects.head_builds import WORKTREES
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root
    from sizeguard.report.setup.cleaning_text import cleaning_text
    from sizeguard.snapshots.cleaning import clean_store

    root = project_root()
    limits = store_limits(read_config(root).store, max_size, max_age)
    cleaning = clean_store(project_store(root).folder, limits, is_dry=is_dry)
    if worktrees and not is_dry:
        remove_worktrees(root, root / WORKTREES)
    print_result(cleaning_text(cleaning, format_), file)
