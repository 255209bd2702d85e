"""Turns the command line of `sizeguard gate` into one run of the gate."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--app", "apps", multiple=True, metavar="NAME", help="Only this app of sizeguard.yaml. May be given again.")
@click.option("--target", "targets", multiple=True, metavar="NAME", help="Only this target of sizeguard.yaml. May be given again.")
@click.option("--base", default="", metavar="REF", help="Count growth from the merge base with this branch or commit.")
@click.option("--compiler", metavar="gcc|clang", help="Instead of what targets say, but for those of macOS.")
@click.option("--linker", metavar="bfd|lld", help="The linker; bfd with gcc and lld with clang if left out.")
@click.option("--again", is_flag=True, help="Do the work even if nothing changed since it passed.")
@click.option("--format", "format_", type=click.Choice(["terminal", "json"]), default="terminal", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write there instead of to the terminal.")
@click.pass_context
def command(
    context: click.Context,
    apps: tuple[str, ...],
    targets: tuple[str, ...],
    base: str,
    compiler: str | None,
    linker: str | None,
    again: bool,
    format_: str,
    output: Path | None,
) -> None:
    """Build full and each app's selective runtime, run every model on both, compare sizes with the merge base and the policy.

    Exit code 0: all holds. 1: something grew too much or a model broke. 3: there is nothing to compare with. 4: a build failed.

    Example: sizeguard gate --app vision --base origin/main
    """
    from sizeguard.files import write_atomic
    from sizeguard.gate.config_reader import read_config
    from sizeguard.gate.gate import run_gate
    from sizeguard.gate.request import Request
    from sizeguard.project import project_root
    from sizeguard.report.gate import gate_text

    root = project_root()
    result = run_gate(Request(root, read_config(root), apps, targets, base, compiler, linker, again))
    text = gate_text(result, format_)
    if output is None:
        click.echo(text)
    else:
        write_atomic(output, text + "\n")
    context.exit(result.exit_code)
