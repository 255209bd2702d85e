"""The command `sizeguard waivers`: list the waivers, or only those that end soon."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sizeguard.base.errors import GateError
from sizeguard.base.files import path_below
from sizeguard.cli.option_groups import OUTPUT_FILE, format_option, print_result
from sizeguard.cli.project_options import RUNTIME_SOURCE
from sizeguard.report.result_formats import TABLE_FORMATS

if TYPE_CHECKING:
    from sizeguard.gate.policy.terms_result import Waiver
    from sizeguard.projects.project import Config


@click.command()
@click.option(
    "--within",
    type=click.IntRange(min=0),
    metavar="DAYS",
    help="List only waivers that have ended or end within N days, and exit 1 if there are any.",
)
@click.option(
    "--owners",
    "checks_owners",
    is_flag=True,
    help="Exit with 1 if CODEOWNERS lacks a waiver's owner, or has no owner for a policy file.",
)
@format_option((*TABLE_FORMATS, "github"))
@OUTPUT_FILE
@RUNTIME_SOURCE
def command(
    within: int | None,
    checks_owners: bool,
    format_: str,
    file: Path | None,
    runtime_source: Path | None,
) -> None:
    """List the waivers of baselines/waivers.yaml, the first to end first.

    A weekly run with --within 14 warns before an expired waiver fails the gate.

    \b
    Examples:
      sizeguard waivers
      sizeguard waivers --within 14 --format github
      sizeguard waivers --owners
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
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
    if not text and format_ == "terminal" and not checks_owners:
        text = "no waivers" if within is None else f"no waiver ends within {within} days"
    print_result(text, file)
    wrong = _wrong_owners(root, config, waivers) if checks_owners else []
    for line in wrong:
        click.echo(f"error: {line}", err=True)
    if within is not None and shown:
        count = len(shown)
        raise GateError(
            f"{count} {'waiver ends' if count == 1 else 'waivers end'} within {within} days"
        )
    if wrong:
        raise GateError("owners of policy are missing")


def _wrong_owners(root: Path, config: Config, waivers: Sequence[Waiver]) -> list[str]:
    """List the owners that CODEOWNERS lacks, and the rules that policy files need."""
    from sizeguard.attribution.teams.code_owners import PLACES, find_code_owners
    from sizeguard.attribution.teams.policy_owners import is_known_owner, without_owner
    from sizeguard.gate.policy.baselines import FOLDER, WAIVERS
    from sizeguard.projects.project import CONFIG
    from sizeguard.report.writers.printable import printable

    owners = find_code_owners(root)
    unknown = {
        each.owner: each.source for each in waivers if not is_known_owner(owners, each.owner)
    }
    found = [
        f"{source}: CODEOWNERS does not name '{printable(owner)}'"
        for owner, source in unknown.items()
    ]
    # A baseline's name has tools in it: the folder stands for all
    policy = {CONFIG: f"/{CONFIG}", f"{FOLDER}/{WAIVERS}": f"/{FOLDER}/"}
    policy |= {
        path: f"/{path}"
        for app in config.apps
        if app.is_selective and (path := path_below(app.selection, root))
    }
    missing = without_owner(owners, policy)
    return found + [
        f"{path}: nobody has to review it; add to {PLACES[0]}: {printable(policy[path])} @OWNER"
        for path in missing
    ]
