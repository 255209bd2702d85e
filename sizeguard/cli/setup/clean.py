"""The command `sizeguard clean`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from sizeguard.base.errors import InputError
from sizeguard.cli.option_groups import format_option

if TYPE_CHECKING:
    from sizeguard.projects.project import StoreEntry
    from sizeguard.snapshots.cleaning import StoreLimits

_AGE = re.compile(r"(\d{1,6}) ?(d|days?|w|weeks?)")
_DAYS = {"d": 1, "w": 7}


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
def command(is_dry: bool, max_size: str, max_age: str, worktrees: bool, format_: str) -> None:
    """Show the store of measurements, and remove entries beyond its limits.

    Limits come from the options, else from `store` in sizeguard.yaml, else they are 2 GiB and 180
    days. Entries that a running process may use are kept. Removed entries are measured again when
    they are needed.

    \b
    Examples:
      sizeguard clean --dry-run
      sizeguard clean --max-size 500MiB --max-age 30d
    """
    # Imported on call: the help takes 0.05 s, with all that the work needs up to 0.5 s.
    from sizeguard.git.worktrees import remove_worktrees
    from sizeguard.measurement.store_place import project_store
    from sizeguard.projects.head_builds import WORKTREES
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root
    from sizeguard.report.setup.cleaning_text import cleaning_text
    from sizeguard.snapshots.cleaning import clean_store

    root = project_root()
    limits = _limits(read_config(root).store, max_size, max_age)
    cleaning = clean_store(project_store(root).folder, limits, is_dry=is_dry)
    if worktrees and not is_dry:
        remove_worktrees(root, root / WORKTREES)
    click.echo(cleaning_text(cleaning, format_))


def _limits(entry: StoreEntry, max_size: str, max_age: str) -> StoreLimits:
    """Take each limit from the options, else from sizeguard.yaml, else the default."""
    from sizeguard.gate.policy.limits import parse_size
    from sizeguard.snapshots.cleaning import USUAL_AGE, USUAL_SIZE, StoreLimits

    size, age = max_size or entry.max_size, max_age or entry.max_age
    return StoreLimits(
        parse_size(size, "--max-size" if max_size else entry.place) if size else USUAL_SIZE,
        _seconds(age, "--max-age" if max_age else entry.place) if age else USUAL_AGE,
        "options" if max_size or max_age else entry.place,
    )


def _seconds(text: str, where: str) -> int:
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{where}: '{text}' is not an age; write 90 days or 12 weeks")
    return int(found[1]) * _DAYS[found[2][0]] * 86400
