"""Turns the command line of `sizeguard baseline` into one reading or writing of baselines."""

from __future__ import annotations

import click


@click.group()
def command() -> None:
    """Update or show the reviewed sizes in baselines/.

    Example: sizeguard baseline update --app vision
    """


@command.command()
@click.option("--app", "apps", multiple=True, metavar="NAME", help="Only this app of sizeguard.yaml. May be given again.")
@click.option("--compiler", default="gcc", show_default=True, metavar="gcc|clang")
@click.option("--linker", metavar="bfd|lld")
def update(apps: tuple[str, ...], compiler: str, linker: str | None) -> None:
    """Build the apps and keep their sizes as what the gate compares with. Review the change before you commit it.

    Example: sizeguard baseline update --app vision
    """
    from sizeguard.build.toolchain import find_toolchain
    from sizeguard.gate.config_reader import read_config
    from sizeguard.gate.update import update_baselines
    from sizeguard.project import project_root
    from sizeguard.report.baseline import update_text

    root = project_root()
    updates = update_baselines(root, read_config(root), find_toolchain(compiler, linker), apps)
    click.echo(update_text(updates))


@command.command()
@click.option("--format", "format_", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
def show(format_: str) -> None:
    """Show all baselines.

    Example: sizeguard baseline show
    """
    from sizeguard.gate.update import all_baselines
    from sizeguard.project import project_root
    from sizeguard.report.baseline import baselines_text

    click.echo(baselines_text(all_baselines(project_root()), format_))
