"""The command `sizeguard triage`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.base.files import is_there
from sizeguard.cli.option_groups import OUTPUT_FILE, PATH, format_option, print_result
from sizeguard.cli.project_options import RUNTIME_SOURCE, only_apps


@click.command()
@click.argument("line", metavar="'ERROR LINE'")
@only_apps
@click.option(
    "--selection",
    "selections",
    multiple=True,
    type=PATH,
    metavar="FILE",
    help="The selection of the device's build, instead of the selections in sizeguard.yaml.",
)
@format_option()
@OUTPUT_FILE
@RUNTIME_SOURCE
def command(
    line: str,
    apps: tuple[str, ...],
    selections: tuple[Path, ...],
    format_: str,
    file: Path | None,
    runtime_source: Path | None,
) -> None:
    """Explain an error that a device reports: deselected, unknown, or another build.

    Operators, dtypes, classes and features in the line are looked up in the selections of the apps.
    Names of PyTorch and ExecuTorch are translated. `-` reads the line from stdin.

    \b
    Examples:
      sizeguard triage 'aten::linear: calls aten::permute, which is not in this build'
      adb logcat -d | grep sizeguard | tail -1 | sizeguard triage -
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.projects.project import chosen_apps
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import find_sources, project_root
    from sizeguard.report.selection.triage_text import triage_text
    from sizeguard.runtimes.known import selectable, translated
    from sizeguard.selection.foreign.device_errors import named_in
    from sizeguard.selection.read import read_selection

    if selections and apps:
        raise click.UsageError("give --app or --selection, not both")
    source = find_sources(runtime_source)
    if selections:
        files = {str(path): path for path in selections}
    else:
        root = project_root()
        chosen = chosen_apps(read_config(root), apps)
        files = {a.name: root / a.selection_file for a in chosen if a.selection_file}
        if not files:
            raise InputError("no app of sizeguard.yaml has a selection; name one with --selection")
    read = {
        name: translated(source, read_selection(path).selection) for name, path in files.items()
    }
    text = _stdin() if line == "-" else line
    found = named_in(text, selectable(source), read)
    if not found and is_there(Path(line)) and Path(line).is_file():
        quoted = shlex.quote(line)
        raise InputError(f"{line}: is a file; to read it, write sizeguard triage - < {quoted}")
    if not found:
        raise InputError(
            "the line names no operator, dtype, class or build feature; for example: "
            "sizeguard triage 'aten::relu is not in this build'"
        )
    print_result(triage_text(found, format_, has_apps=not selections), file)


def _stdin() -> str:
    """Read standard input; a device's log may hold bytes of any encoding."""
    if sys.stdin is None:
        raise InputError("-: standard input is closed")
    return sys.stdin.buffer.read().decode("utf-8", "replace")
