"""The command `sizeguard waivers`: list the waivers, or only those that end soon."""

from __future__ import annotations

from pathlib import Path

import click

from sizeguard.cli.project_options import RUNTIME_SOURCE


@click.command()
@click.option(
    "--within",
    type=click.IntRange(min=0),
    metavar="DAYS",
    help="List only waivers that have ended or end within N days, and exit 1 if there are any.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["terminal", "json", "github"]),
    default="terminal",
    show_default=True,
)
@RUNTIME_SOURCE
def command(within: int | None, format_: str, runtime_source: Path | None) -> None:
    """List the waivers of baselines/waivers.yaml, the first to end first.

    A weekly run with --within 14 warns before an expired waiver fails the gate.

    \b
    Examples:
      sizeguard waivers
      sizeguard waivers --within 14 --format github
    """
    # Imported on call: `sizeguard --help` takes 0.05 s, with the imports of all commands 0.6 s.
    import datetime

    from sizeguard.base.errors import GateError
    from sizeguard.gate.policy.waivers import ending, read_waivers
    from sizeguard.measurement.metric_names import MetricNames
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root, source_of
    from sizeguard.report.gate.waiver_list import waiver_list

    root = project_root()
    config = read_config(root)
    waivers = read_waivers(root, config, MetricNames(source_of(config, runtime_source)))
    today = datetime.datetime.now(tz=datetime.UTC).date()
    shown = ending(waivers, today, within)
    text = waiver_list(shown, today, format_)
    if text:
        click.echo(text)
    if within is not None and shown:
        count = len(shown)
        raise GateError(
            f"{count} {'waiver ends' if count == 1 else 'waivers end'} within {within} days"
        )
