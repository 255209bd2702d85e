"""The command `sizeguard app add`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

import click

from sizeguard.base.errors import InputError
from sizeguard.base.files import is_there, write_atomic
from sizeguard.cli.option_groups import PATH
from sizeguard.cli.project_options import RUNTIME_SOURCE


@click.command()
@click.argument("name")
@click.argument("models", nargs=-1, required=True, type=PATH, metavar="MODEL...")
@click.option(
    "--selection",
    type=PATH,
    metavar="FILE",
    help="Selection file to write. Default: native/apps/NAME/selected_operators.yaml.",
)
@click.option("--no-gate", is_flag=True, help="Write no baseline and run no gate.")
@RUNTIME_SOURCE
@click.pass_context
def command(
    context: click.Context,
    name: str,
    models: tuple[Path, ...],
    selection: Path | None,
    no_gate: bool,
    runtime_source: Path | None,
) -> None:
    """Add an app for models (.pt2 or .sgp): trace them, select, review its size, gate it.

    A MODEL is a .pt2 with case0_input0.npy … beside it, or a .sgp with bundled inputs. This command
    runs the models on the instrumented build, writes the used parts as the app's selection, adds
    the app to sizeguard.yaml, writes its record and baselines, and gates it. Review and commit what
    it wrote.

    Example: sizeguard app add keywords models/keywords.pt2
    """
    # Imported here because --help takes 0.05 s without these imports and up to 0.5 s with them.
    from sizeguard.projects.project import CONFIG
    from sizeguard.projects.reader import read_config
    from sizeguard.projects.root import project_root, source_root
    from sizeguard.proposals.added_app import undone_unless_complete, with_app
    from sizeguard.runtimes.known import source_tree

    root = project_root()
    _check_name(root, name)
    source = source_root(runtime_source)
    place = selection or source_tree(source)[1].usual_selection(name)
    _check_files(place, name, models)
    paths = [_in_project(path, root) for path in (place, *models)]
    option = [] if runtime_source is None else ["--runtime-source", str(runtime_source)]

    def run(*words: str) -> None:
        click.echo(f"sizeguard {' '.join(words[:2])} …", err=True)
        with context.find_root().command.make_context("sizeguard", [*words, *option]) as step:
            step.command.invoke(step)

    with undone_unless_complete(root / CONFIG, place) as config:
        run("trace", *map(str, models), "-o", str(place))
        text = config.read_bytes().decode()
        write_atomic(config, with_app(text, name, paths[0], paths[1:]))
        read_config(root)
        run("select", "update", "--app", name)
    if not no_gate:
        run("baseline", "update", "--app", name)
        run("gate", "--app", name)


def _check_name(root: Path, name: str) -> None:
    """Raise InputError if no app can have the name, or one has it."""
    from sizeguard.projects.app_reader import check_app_name
    from sizeguard.projects.project import CONFIG
    from sizeguard.projects.reader import read_config

    check_app_name(name, "NAME")
    if name in {app.name for app in read_config(root).apps}:
        raise InputError(
            f"{root / CONFIG}: app {name} exists already; sizeguard select update "
            f"adds to its selection"
        )


def _check_files(selection: Path, name: str, models: Iterable[Path]) -> None:
    """Raise InputError if the selection exists, or a model does not or is none."""
    from sizeguard.base.nearest import nearest_file
    from sizeguard.runtimes.model_files import check_traceable

    if selection.exists():
        raise InputError(
            f"{selection} already exists; remove it, or name another file with --selection"
        )
    for model in models:
        if not is_there(model):
            command = shlex.join(["sizeguard", "app", "add", str(model), name])
            first = f"; the name comes first: {command}"
            hint = first if Path(name).is_file() else nearest_file(model)
            raise InputError(f"{model}: no such file{hint}")
        check_traceable(model)


def _in_project(path: Path, root: Path) -> str:
    """Return a path relative to the project, as sizeguard.yaml has it.

    Raises InputError for one outside the project.
    """
    full = path.resolve()
    if not full.is_relative_to(root.resolve()):
        raise InputError(f"{path}: not in the project {root}; copy it there")
    return full.relative_to(root.resolve()).as_posix()
