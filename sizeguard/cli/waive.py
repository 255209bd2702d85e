"""Turns the command line of `sizeguard waive` into one entry of baselines/waivers.yaml, or a line for a commit message."""

from __future__ import annotations

import click


@click.command()
@click.argument("metric")
@click.option("--app", default="", metavar="NAME", help="The app; all if left out.")
@click.option("--target", default="", metavar="NAME", help="The target; all if left out.")
@click.option("--bytes", "size", required=True, metavar="N", help="How many bytes beyond its limits the metric may have.")
@click.option("--reason", required=True, metavar="TEXT", help="Why it is worth it.")
@click.option("--owner", required=True, metavar="NAME", help="Who is asked when it expires.")
@click.option("--expires", required=True, metavar="YYYY-MM-DD", help="The last day on which it holds.")
@click.option("--trailer", is_flag=True, help="Print the line for a commit message instead; it holds until the commit is merged.")
def command(metric: str, app: str, target: str, size: str, reason: str, owner: str, expires: str, trailer: bool) -> None:
    """Let a metric have more bytes than its limits say, for a time.

    Example: sizeguard waive load --app vision --bytes 204 --owner ann --reason 'tiles for 3x3' --expires 2027-01-31
    """
    import datetime

    from sizeguard.errors import InputError
    from sizeguard.gate.config_reader import read_config
    from sizeguard.gate.metric_names import MetricNames
    from sizeguard.gate.waivers import add_waiver, make_waiver, trailer_text
    from sizeguard.project import project_root

    root = project_root()
    fields = {"metric": metric, "app": app, "target": target, "bytes": size, "reason": reason, "owner": owner, "expires": expires}
    waiver = make_waiver(fields, "", "waive", read_config(root), MetricNames(root))
    if waiver.expires < datetime.datetime.now(tz=datetime.UTC).date().isoformat():
        raise InputError(f"waive: {waiver.expires} is over; give a day to come")
    if trailer:
        click.echo(trailer_text(waiver))
        return
    path = add_waiver(root, waiver)
    click.echo(f"{path.parent.name}/{path.name}: {waiver.bytes:,} bytes of {waiver.metric} until {waiver.expires}; commit it for review")
