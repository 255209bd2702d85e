"""The command `sizeguard init`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizeguard.base.errors import InputError
from sizeguard.base.files import write_atomic
from sizeguard.cli.option_groups import FOLDER

if TYPE_CHECKING:
    from sizeguard.projects.project import Config


@click.command
@click.argument(
    "build",
    required=False,
    type=FOLDER,
    metavar="[BUILD_FOLDER]",
)
@click.option("--check", is_flag=True, help="Show what would be measured, and write nothing.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option(
    "--ci",
    type=click.Choice(["github", "gitlab", "none"]),
    help="Write the file for this CI system. Default: the repository's CI system.",
)
def command(build: Path | None, check: bool, force: bool, ci: str | None) -> None:
    """Write sizeguard.yaml for a build: its images, commands, and limits from today's sizes.

    Reads a build folder of CMake, Ninja, Make, Meson or Cargo. Default: the newest build below the
    current folder. Images are the programs and shared libraries that the build linked. Those of
    tests and dependencies are left out if there are others. Lists build flags that an image lacks
    for full reports. Builds nothing.

    \b
    Examples:
      sizeguard init build
      sizeguard init --check
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.projects.project import CONFIG
    from sizeguard.projects.reader import parse_config, read_config
    from sizeguard.projects.root import find_project
    from sizeguard.proposals.ci_files import ci_file
    from sizeguard.proposals.config_text import config_text
    from sizeguard.proposals.propose import propose
    from sizeguard.report.setup.init_lines import proposal_lines

    there = find_project() if check and build is None else None
    if there is not None:
        click.echo(_measured(there, read_config(there)), nl=False)
        return
    proposal = propose(build or Path.cwd())
    text = config_text(proposal)
    config = parse_config(proposal.root, text.encode())
    if check:
        click.echo(proposal_lines(proposal))
        click.echo(_measured(proposal.root, config), nl=False)
        return
    files = {CONFIG: text}
    more = ci_file(proposal.root, ci, proposal.packages) if proposal.is_git else None
    if more is not None:
        files[more.path] = more.text
    if not force:
        _check_new(proposal.root, files)
    click.echo(proposal_lines(proposal))
    for name, content in files.items():
        write_atomic(proposal.root / name, content)
        click.echo(f"wrote {name}")
    if more is not None and more.note:
        click.echo(more.note)
    if more is None and ci != "none":
        lack = "the repository names no CI system; see --ci"
        click.echo(f"no CI file: {lack if proposal.is_git else 'this is no git repository'}")
    if proposal.is_git:
        click.echo("next: sizeguard baseline update, commit, sizeguard gate")
    else:
        click.echo("next: sizeguard baseline update --in-place, sizeguard gate --in-place")


def _check_new(root: Path, names: Iterable[str]) -> None:
    """Raise InputError if one of the files exists."""
    from sizeguard.projects.project import CONFIG

    for name in names:
        if (root / name).exists():
            other = "" if name == CONFIG else ", --ci none writes none"
            raise InputError(
                f"{root / name}: already exists; --force replaces it{other}, --check "
                f"shows what would be measured"
            )


def _measured(root: Path, config: Config) -> str:
    """List what the gate would measure, one line per app and target."""
    from sizeguard.report.writers.printable import plain_text

    lines = []
    for app in config.apps:
        for target in app.targets:
            steps = app.steps.get(target)
            if steps is None:
                lines.append(f"{app.name} for {target}: selected by {app.selection}")
                continue
            image = steps.images[app.image].image
            found = "" if (root / image).is_file() else ", not built on this machine"
            how = f"by {steps.build}" if steps.build else "as found"
            lines.append(f"measures {app.name} for {target}: {image} {how}{found}")
    return plain_text(lines) + "\n"
