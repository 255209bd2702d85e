"""Choose the place of the store, which must not be a folder that a change can write.

Measurements in the store are trusted. A folder with tracked files could contain forged
measurements, so it is refused. In CI, the store is outside of the checkout.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from sizeguard.base import OWN_FOLDER
from sizeguard.base.errors import InputError
from sizeguard.git.git import git_bytes, top_folder
from sizeguard.snapshots.store import FOLDER_VARIABLE, Store

# The first is of GitHub, GitLab, Bitbucket, Buildkite, Cirrus, CircleCI and others; then Azure,
# Jenkins, TeamCity and AWS CodeBuild.
_CI = ("CI", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION", "CODEBUILD_BUILD_ID")
_IN_PROJECT = Path(OWN_FOLDER) / "store"


def project_store(root: Path) -> Store:
    """Return the store of a project, usually .sizeguard/store; raises the errors of store_at."""
    return store_at(root, root / _IN_PROJECT)


def store_at(root: Path, usual: Path) -> Store:
    """Return the store in $SIZEGUARD_STORE, else in CI the user's store, else the default one.

    Raises InputError for a folder with tracked files, and in CI for one inside the checkout.
    """
    given = os.environ.get(FOLDER_VARIABLE, "")
    folder = Path(given) if given else _of_user() if in_ci() else usual
    check_store(root, folder)
    return Store(folder)


def check_store(root: Path, folder: Path) -> None:
    """Check that no change of a project can add files to the store.

    Raises InputError if git tracks the folder, a file in it or a link in its path. In CI, it may
    not be inside the checkout, either.
    """
    shown = f"{folder}: the store of measurements"
    elsewhere = f"name another folder with {FOLDER_VARIABLE}"
    tracked = _tracked(root, folder)
    if tracked:
        raise InputError(f"{shown}: git tracks {tracked}, so a change can write it; {elsewhere}")
    if in_ci() and folder.resolve().is_relative_to(_top(root) or root.resolve()):
        raise InputError(f"{shown} is inside the checkout, which is not allowed in CI; {elsewhere}")


def in_ci() -> bool:
    """Return whether a CI service runs this process, by its variables."""
    return any(os.environ.get(name, "").lower() not in ("", "0", "false") for name in _CI)


def _of_user() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache) if cache else Path.home() / ".cache") / "sizeguard" / "store"


def _tracked(root: Path, folder: Path) -> str:
    """Name a tracked path at, in or above the folder; empty if there is none."""
    # As written, because a link in the path may be tracked
    written = (root / folder).absolute()
    place = written.resolve()
    existing = next(each for each in (place, *place.parents) if each.is_dir())
    top = _top(root)
    own = top if _is_in_tree(existing, top) else _top(existing)
    asked = ((root, written), (top, written), (own, place))
    # The three checks are the same unless there are links
    below = {
        (base, path.relative_to(base)): None
        for base, path in asked
        if base is not None and path.is_relative_to(base)
    }
    return next(filter(None, (_tracked_at(base, path) for base, path in below)), "")


def _is_in_tree(folder: Path, top: Path | None) -> bool:
    """Return whether git finds a tree's root from a folder below: nothing between looks like one.

    Git looks for .git, and for the files of a bare repository.
    """
    if top is None or not folder.is_relative_to(top):
        return False
    between = itertools.takewhile(lambda each: each != top, (folder, *folder.parents))
    return not any(os.path.lexists(each / name) for each in between for name in (".git", "HEAD"))


def _top(folder: Path) -> Path | None:
    try:
        return top_folder(folder).resolve()
    except InputError:
        return None


def _tracked_at(base: Path, folder: Path) -> str:
    path = PurePosixPath(folder.as_posix())
    on_the_way = [each.as_posix() for each in path.parents if each.name]
    specs = [f":(literal){each}" for each in (path.as_posix(), *on_the_way)]
    listed = b""
    for command in (
        ("ls-files", "-z", "--", *specs),
        ("ls-tree", "-r", "-z", "--name-only", "HEAD", "--", path.as_posix()),
    ):
        with contextlib.suppress(InputError):  # no repository, or one without commits
            listed += git_bytes(base, *command)
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    return next(_concerned(names, path.as_posix(), on_the_way), "")


def _concerned(names: Iterable[str], folder: str, on_the_way: Iterable[str]) -> Iterator[str]:
    above = {folder, *on_the_way}
    inside = "" if folder == "." else f"{folder}/"
    return (name for name in names if name in above or name.startswith(inside))
