"""Files in the place of images that the build did not make: of other builds, of the commit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from sizeguard.base.files import write_atomic
from sizeguard.builds.packages.members import MEMBERS
from sizeguard.git.trees import tree_entries
from sizeguard.git.worktrees import Worktree
from sizeguard.projects.project import SHIPS, ImageFiles
from sizeguard.toolchains.links.watched_git import begun_at
from sizeguard.toolchains.recipe import DoesNotBuildError

_SHIPPED = ".shipped.json"  # beside the gathered images; no app has such a name


def remove_outputs(tree: Worktree, commit: str, images: Iterable[ImageFiles]) -> None:
    """Remove what the last build in a kept worktree made, so that the next has to make its own.

    These are images, what ships with them, and their maps. Files of the commit stay, and libraries
    of the setup, which does not run again. Of a member of a package, the package is removed.
    """
    tracked = tree_entries(tree.repository, commit, "-r", "--full-tree")
    made = (path for each in images for path in (each.image, each.shipped, each.map, each.debug))
    found = {path.partition("!")[0] for path in made if path}
    for outer in sorted({*found, *_shipped_by_build(tree)} - tracked.keys()):
        place = tree.path / outer
        if place.is_file() or place.is_symlink():
            place.unlink()


def note_shipped(tree: Worktree, folder: Path) -> None:
    """Record which files ship with the image that was gathered in a folder."""
    ships = folder / SHIPS
    names = {path.relative_to(ships).as_posix() for path in ships.rglob("*") if path.is_file()}
    if names:
        known = sorted({*_noted(tree), *(name.partition(f"{MEMBERS}/")[0] for name in names)})
        write_atomic(tree.made / _SHIPPED, json.dumps(known) + "\n")


def _shipped_by_build(tree: Worktree) -> Iterator[str]:
    """Yield the noted files that changed after the setup."""
    after = tree.setup.stat().st_mtime_ns
    for name in _noted(tree):
        place = tree.path / name
        if (place.exists() or place.is_symlink()) and place.lstat().st_ctime_ns > after:
            yield name


def _noted(tree: Worktree) -> list[str]:
    try:
        return list(map(str, json.loads((tree.made / _SHIPPED).read_bytes())))
    except (OSError, ValueError):
        return []


def check_made(tree: Worktree, commit: str, files: ImageFiles) -> None:
    """Raise DoesNotBuildError if an image is a file of the commit that the build did not touch.

    A build tool may find such a file up to date, whatever its sources are.
    """
    top = tree.path.resolve()
    for path in filter(None, (files.image, files.shipped)):
        place = (tree.path / path.partition("!")[0]).resolve()
        if not place.is_file() or not place.is_relative_to(top):
            continue
        name = place.relative_to(top).as_posix()
        is_old = place.stat().st_ctime_ns <= begun_at(tree.path)
        if is_old and name in tree_entries(tree.repository, commit, "-r", "--full-tree"):
            raise DoesNotBuildError(
                f"the build command made no {path}: {name} is a file of the commit; an image"
                " without a build command is measured as found"
            )
