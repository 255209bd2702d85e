"""Remove the images that the build of another commit left in a kept worktree."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sizeguard.git.trees import tree_entries
from sizeguard.projects.project import ImageFiles


def remove_images(tree: Path, repository: Path, commit: str, images: Iterable[ImageFiles]) -> None:
    """Remove images and what ships of them, so that a build has to make its own.

    Files of the commit stay. Of a member of a package, the package is removed.
    """
    tracked = tree_entries(repository, commit, "-r", "--full-tree")
    for path in (path for files in images for path in (files.image, files.shipped) if path):
        outer = path.partition("!")[0]
        place = tree / outer
        if outer not in tracked and (place.is_file() or place.is_symlink()):
            place.unlink()
