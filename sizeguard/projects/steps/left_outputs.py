"""Files in the place of images that the build did not make: of other builds, of the commit."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sizeguard.git.trees import tree_entries
from sizeguard.git.worktrees import Worktree
from sizeguard.projects.project import ImageFiles
from sizeguard.toolchains.links.watched_git import begun_at
from sizeguard.toolchains.recipe import DoesNotBuildError


def remove_images(tree: Path, repository: Path, commit: str, images: Iterable[ImageFiles]) -> None:
    """Remove images, what ships of them and their maps, so that a build has to make its own.

    Files of the commit stay. Of a member of a package, the package is removed.
    """
    tracked = tree_entries(repository, commit, "-r", "--full-tree")
    made = (path for each in images for path in (each.image, each.shipped, each.map, each.debug))
    for path in filter(None, made):
        outer = path.partition("!")[0]
        place = tree / outer
        if outer not in tracked and (place.is_file() or place.is_symlink()):
            place.unlink()


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
