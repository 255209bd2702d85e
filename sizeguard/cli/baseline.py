"""Turns the command line of `sizeguard baseline` into one reading or writing of baselines."""

from __future__ import annotations

import click


@click.group()
def command() -> None:
    """Update or show the reviewed sizes in baselines/, or what they were.

    Example: sizeguard baseline update --app vision
    """


@command.command()
@click.option("--app", "apps", multiple=True, metavar="NAME", help="Only this app of sizeguard.yaml. May be given again.")
@click.option("--target", "targets", multiple=True, metavar="NAME", help="Only this target of sizeguard.yaml. May be given again.")
@click.option("--compiler", metavar="gcc|clang", help="Instead of what targets say, but for those of macOS.")
@click.option("--linker", metavar="bfd|lld")
def update(apps: tuple[str, ...], targets: tuple[str, ...], compiler: str | None, linker: str | None) -> None:
    """Build the apps and keep their sizes as what the gate compares with. Review the change before you commit it.

    Example: sizeguard baseline update --app vision
    """
    from sizeguard.gate.config_reader import read_config
    from sizeguard.gate.request import Request
    from sizeguard.gate.update import update_baselines
    from sizeguard.project import project_root
    from sizeguard.report.baseline import update_text

    root = project_root()
    updates = update_baselines(Request(root, read_config(root), apps, targets, compiler=compiler, linker=linker))
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


@command.command()
@click.option("--app", "apps", multiple=True, metavar="NAME", help="Only this app. May be given again.")
@click.option("--format", "format_", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
def log(apps: tuple[str, ...], format_: str) -> None:
    """Show what each baseline was in the commits that changed it, and by how much.

    Example: sizeguard baseline log --app vision
    """
    from sizeguard.gate.baseline_log import baseline_log
    from sizeguard.project import project_root
    from sizeguard.report.baseline import log_text

    click.echo(log_text(baseline_log(project_root(), apps), format_))
