"""The command `sizeguard waive`: add a waiver, or print one for a commit message."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from sizeguard.base.errors import InconclusiveError, InputError
from sizeguard.cli import candidates
from sizeguard.cli.policy_line import print_policy
from sizeguard.cli.project_options import RUNTIME_SOURCE


@click.command()
@click.argument(
    "metric",
    shell_complete=candidates.metrics,
)
@click.option(
    "--app",
    default="",
    metavar="NAME",
    help="The app. Default: all.",
    shell_complete=candidates.one_of(candidates.apps),
)
@click.option(
    "--target",
    default="",
    metavar="NAME",
    help="The target. Default: all.",
    shell_complete=candidates.one_of(candidates.targets),
)
@click.option(
    "--bytes",
    "size",
    required=True,
    metavar="N",
    help="Bytes that the metric may exceed its limits by.",
)
@click.option("--reason", required=True, metavar="TEXT", help="Reason for the waiver.")
@click.option(
    "--owner", required=True, metavar="NAME", help="Person to ask when the waiver expires."
)
@click.option("--expires", required=True, metavar="YYYY-MM-DD", help="Last day of the waiver.")
@click.option(
    "--trailer",
    is_flag=True,
    help="Print a line for a commit message instead; it is valid until the commit is merged.",
)
@RUNTIME_SOURCE
def command(
    metric: str,
    app: str,
    target: str,
    size: str,
    reason: str,
    owner: str,
    expires: str,
    trailer: bool,
    runtime_source: Path | None,
) -> None:
    """Allow a metric more bytes than its limits, for a time.

    \b
    Example:
      sizeguard waive load --app vision --bytes 204 --owner ann \\
          --reason 'tiles for 3x3' --expires 2027-01-31
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.gate.policy.read_limits import read_limits
    from sizeguard.gate.policy.terms_result import NONE_NEAR
    from sizeguard.gate.policy.waivers import COMMAND_LINE, add_waiver, make_waiver, trailer_text
    from sizeguard.measurement.metric_names import MetricNames
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root, source_of

    root = project_root()
    fields = {
        "metric": metric,
        "app": app,
        "target": target,
        "bytes": size,
        "reason": reason,
        "owner": owner,
        "expires": expires,
    }
    config = read_config(root)
    names = MetricNames(source_of(config, runtime_source))
    read_limits(config, names)
    waiver = make_waiver(fields, "", COMMAND_LINE, config, names)
    if waiver.nearest:
        near = f"; nearest is {waiver.nearest}" if waiver.nearest != NONE_NEAR else ""
        raise InconclusiveError(f"waive: unknown metric '{metric}'{near}")
    if waiver.expires < datetime.datetime.now(tz=datetime.UTC).date().isoformat():
        raise InputError(f"--expires: {waiver.expires} is in the past; give a later day")
    if trailer:
        print_policy(root, in_result=False)
        click.echo(trailer_text(waiver))
        return
    path = add_waiver(root, waiver)
    print_policy(root)
    click.echo(
        f"{path.parent.name}/{path.name}: {waiver.bytes:,} bytes of {waiver.metric} until"
        f" {waiver.expires}; commit it for review"
    )
