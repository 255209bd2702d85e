"""Find the folders of a command: the project, and the runtime's sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable
from sizeguard.projects import CONFIG
from sizeguard.runtimes.known import built_from, holds_sources

if TYPE_CHECKING:
    from sizeguard.projects.project import Config

OPTION = "--runtime-source"


def project_root() -> Path:
    """Return the folder with sizeguard.yaml: the current folder, or the nearest above it.

    Raises InputError if there is none up to the root of the git worktree, or if it is no file.
    """
    found = find_project()
    if found is None:
        for path in (folder / CONFIG for folder in _folders_up()):
            if path.is_symlink() or path.exists():
                raise InputError(f"{path}: cannot read: not a regular file")
        raise InputError(
            f"not in a project: there is no {CONFIG} in {_looked_in()}; sizeguard init writes one"
        )
    return found


def find_project() -> Path | None:
    """Find the folder with sizeguard.yaml; None if it does not exist."""
    return next((folder for folder in _folders_up() if (folder / CONFIG).is_file()), None)


def may_have_rules(folder: Path) -> bool:
    """Return whether the configuration in a folder may have its own rules, by its bytes.

    Parsing takes 20 ms with the imports. A key can be written with escapes, or in UTF-16.
    """
    data = readable(folder / CONFIG).read_bytes()
    return b"rules" in data or b"\\" in data or b"\0" in data


def source_root(given: Path | None) -> Path:
    """Return the folder that has the runtime's sources in native/.

    given: the value of --runtime-source; if None, search the current folder and those above it.

    Raises InputError if there are no sources.
    """
    found = find_sources(given)
    if found is None:
        raise InputError(
            f"this needs the runtime's sources, but there is no native/ in {_looked_in()}; name "
            f"its folder with {OPTION} DIR"
        )
    return found


def source_of(config: Config, given: Path | None) -> Path | None:
    """Return the runtime's sources if an app needs them; None for any other project.

    given: the value of --runtime-source; raises as source_root does.
    """
    if given is None and not any(app.needs_sources for app in config.apps):
        return None
    return source_root(given)


def find_sources(given: Path | None) -> Path | None:
    """Find the runtime's sources; None if no folder is given and none is found."""
    if given is not None:
        root = given.resolve()
        if not holds_sources(root):
            raise InputError(f"{OPTION} {given}: there is no native/ with the runtime's sources")
        return root
    return next((folder for folder in _folders_up() if holds_sources(folder)), None)


def sources_of(build: Path, given: Path | None) -> Path:
    """Find the sources of a build as find_sources_of does. Raises InputError if there are none."""
    return find_sources_of(build, given) or source_root(None)


def find_sources_of(build: Path, given: Path | None) -> Path | None:
    """Find the sources that a build was made from.

    build: its folder, or a file in it
    given: the value of --runtime-source

    These are the sources in the build's project, else the sources that the build names, else those
    around the current folder, if there are any.
    """
    here = find_sources(given)
    if given is not None or (here is not None and build.resolve().is_relative_to(here)):
        return here
    return built_from(build if build.is_dir() else build.parent) or here


def build_root() -> Path:
    """Return the folder of build/.

    The project, else the folder of the sources, else the current one.
    """
    return find_project() or find_sources(None) or Path.cwd()


def full_build(given: Path | None, option: str) -> Path:
    """Return the full build that is given with an option, or the usual one.

    Raises InputError if there is none.
    """
    path = given or build_root() / "build" / "full"
    if given is None and not path.exists():
        raise InputError(
            f"{path}: there is no full build; make it with sizeguard build full, or name one with"
            f" {option}"
        )
    return path


def _folders_up() -> Iterator[Path]:
    """Yield the current folder and its parents, up to the root of the git worktree."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        yield folder
        if (folder / ".git").exists():
            return


def _looked_in() -> str:
    *_, last = _folders_up()
    here = Path.cwd()
    return str(here) if here == last else f"{here} or above, up to {last}"
