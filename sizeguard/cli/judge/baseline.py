"""The command `sizeguard baseline`."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.cli import candidates
from sizeguard.cli.lazy_group import PlainGroup, screen_width
from sizeguard.cli.option_groups import OUTPUT_FILE, format_option, print_result
from sizeguard.cli.policy_line import print_policy
from sizeguard.cli.project_options import (
    RUNTIME_SOURCE,
    in_place_option,
    only_apps,
    only_targets,
    override_compiler,
    override_linker,
)
from sizeguard.report.result_formats import TABLE_FORMATS


@click.group(cls=PlainGroup)
def command() -> None:
    """Update or show the reviewed sizes in baselines/, or their history.

    Example: sizeguard baseline update --app vision
    """


@command.command()
@only_apps
@only_targets
@override_compiler
@override_linker
@RUNTIME_SOURCE
@in_place_option
def update(
    apps: tuple[str, ...],
    targets: tuple[str, ...],
    compiler: str | None,
    linker: str | None,
    runtime_source: Path | None,
    in_place: bool,
) -> None:
    """Build the apps, and write their sizes as baselines.

    The gate compares with them. Review the change before you commit it.

    Example: sizeguard baseline update --app vision
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.gate.accept import update_baselines
    from sizeguard.gate.request import Request
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root, source_of
    from sizeguard.report.baseline.render import update_text

    root = project_root()
    config = read_config(root)
    updates = update_baselines(
        Request(
            root,
            config,
            apps,
            targets,
            compiler=compiler,
            linker=linker,
            source=source_of(config, runtime_source),
            in_place=in_place,
        )
    )
    print_policy(root)
    click.echo(update_text(updates, screen_width()))


@command.command()
@format_option(TABLE_FORMATS)
@OUTPUT_FILE
def show(format_: str, file: Path | None) -> None:
    """Show all baselines.

    Example: sizeguard baseline show
    """
    from sizeguard.gate.accept import all_baselines
    from sizeguard.projects.root import project_root
    from sizeguard.report.baseline.render import baselines_text

    root = project_root()
    found = all_baselines(root)
    if not found:
        raise InputError(f"{root}: there are no baselines; run `sizeguard baseline update`")
    print_policy(root, in_result=format_ == "terminal" and file is None)
    width = screen_width() if file is None else None
    print_result(baselines_text(found, format_, width), file)


@command.command()
@click.option(
    "--app",
    "apps",
    multiple=True,
    metavar="NAME",
    help="Only this app.",
    shell_complete=candidates.one_of(candidates.apps),
)
@format_option(TABLE_FORMATS)
@OUTPUT_FILE
def log(apps: tuple[str, ...], format_: str, file: Path | None) -> None:
    """Show each change of a baseline, with its commit and its bytes.

    Example: sizeguard baseline log --app vision
    """
    from sizeguard.gate.reference.baseline_log import baseline_log
    from sizeguard.projects.root import project_root
    from sizeguard.report.baseline.render import log_text

    root = project_root()
    entries = baseline_log(root, apps)
    print_policy(root, in_result=format_ == "terminal" and file is None)
    print_result(log_text(entries, format_), file)
