"""Turns the command line of `sizeguard gate` into one run of the gate, or an earlier run's result, shown in any format."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sizeguard.cli.evidence import Output

if TYPE_CHECKING:
    from sizeguard.gate.result import GateResult

FILE = click.Path(path_type=Path)
FORMATS = ("terminal", "json", "markdown", "csv", "junit", "sarif", "github")


def _copies(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, Path], ...]:
    """FORMAT=FILE, refused before anything is built."""
    pairs = [value.partition("=") for value in values]
    for format_, _, file in pairs:
        if format_ not in FORMATS or not file:
            raise click.BadParameter(f"'{format_}={file}' is not FORMAT=FILE with one of {', '.join(FORMATS)}", context, parameter)
    return tuple((format_, Path(file)) for format_, _, file in pairs)


def _outputs(function: Callable[..., Any]) -> Callable[..., Any]:
    """--format, --output, --also and --ascii, handed over as the Outputs; the one on stdout is the last."""

    @functools.wraps(function)
    def with_outputs(format_: str, output: Path | None, copies: tuple[tuple[str, Path], ...], ascii_: bool, **others: Any) -> Any:
        return function(outputs=[*(Output(*copy, ascii_) for copy in copies), Output(format_, output, ascii_)], **others)

    for option in (
        click.option("--ascii", "ascii_", is_flag=True, help="Print nothing but ASCII on the terminal."),
        click.option("--also", "copies", multiple=True, callback=_copies, metavar="FORMAT=FILE", help="Write this as well; repeatable."),
        click.option("--output", type=FILE, metavar="FILE", help="Write there instead of to the terminal."),
        click.option("--format", "format_", type=click.Choice(FORMATS), default="terminal", show_default=True),
    ):
        with_outputs = option(with_outputs)
    return with_outputs


@click.command()
@click.option("--app", "apps", multiple=True, metavar="NAME", help="Only this app of sizeguard.yaml. May be given again.")
@click.option("--target", "targets", multiple=True, metavar="NAME", help="Only this target of sizeguard.yaml. May be given again.")
@click.option("--base", default="", metavar="REF", help="Count growth from the merge base with this branch or commit.")
@click.option("--compiler", metavar="gcc|clang", help="Instead of what targets say, but for those of macOS.")
@click.option("--linker", metavar="bfd|lld", help="The linker; bfd with gcc and lld with clang if left out.")
@click.option("--again", is_flag=True, help="Do the work even if nothing changed since it passed.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Of one run of a model.",
)
@click.option("--from-json", "stored", type=FILE, metavar="FILE", help="Show the result of an earlier run, from its JSON; build nothing.")
@_outputs
@click.pass_context
def command(
    context: click.Context,
    apps: tuple[str, ...],
    targets: tuple[str, ...],
    base: str,
    compiler: str | None,
    linker: str | None,
    again: bool,
    timeout: float,
    stored: Path | None,
    outputs: list[Output],
) -> None:
    """Build full and each app's selective runtime, run every model on both, compare sizes with the merge base and the policy.

    Exit code 0: all holds. 1: something grew too much or a model broke. 3: there is nothing to compare with. 4: a build failed.

    With --format github the step's summary on GitHub is written, too ($GITHUB_STEP_SUMMARY).

    \b
    Examples:
      sizeguard gate --app vision --base origin/main
      sizeguard gate --format github --also json=gate.json --also markdown=comment.md
      sizeguard gate --from-json gate.json --format sarif --output gate.sarif
    """
    from sizeguard.gate.config_reader import read_config
    from sizeguard.gate.gate import run_gate
    from sizeguard.gate.request import Request
    from sizeguard.project import project_root
    from sizeguard.report.gate_json import read_gate_json

    if stored is None:
        root = project_root()
        result = run_gate(Request(root, read_config(root), apps, targets, base, compiler, linker, again, timeout))
    else:
        result = read_gate_json(stored)
    _emit(result, outputs)
    context.exit(result.exit_code)


def _emit(result: GateResult, outputs: list[Output]) -> None:
    from sizeguard.report.gate import gate_text, write_step_summary

    for each in outputs:
        each.emit([gate_text(result, each.format, each.style()), "\n"])
    if any(each.format == "github" for each in outputs):
        write_step_summary(result)
