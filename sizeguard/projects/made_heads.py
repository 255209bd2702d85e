"""Images of a build of the checked-out files, made here or packed on another machine."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.fingerprint import file_hash
from sizeguard.git.worktrees import Worktree
from sizeguard.projects.any_build import AnyBuildRecipe
from sizeguard.projects.project import SHIPS
from sizeguard.toolchains.recipe import Limits


@dataclass(frozen=True, slots=True)
class ImagePlace:
    """A folder with an image and its record. gathered_in: the folder in the record."""

    folder: Path
    gathered_in: Path


@dataclass(frozen=True, slots=True)
class MadeHead:
    """Outputs of a build.

    images:     by app
    keys:       by app: the hash of everything that it depends on, after the build
    failed_run: error of the command after the build; empty without a command, or if it exited with
                0
    """

    images: Mapping[str, ImagePlace]
    keys: Mapping[str, str]
    failed_run: str


@dataclass(frozen=True, slots=True)
class PackedHead:
    """The outputs of a build as bytes.

    images: by app: the folder in the record, and its files as a tar archive
    """

    images: Mapping[str, tuple[str, bytes]]
    keys: Mapping[str, str]
    failed_run: str


def make_head(tree: Worktree, recipe: AnyBuildRecipe, commit: str, limits: Limits) -> MadeHead:
    """Build the files that are checked out in a worktree, and run the command after the build.

    Raises DoesNotBuildError, or BuildError if the machine fails.
    """
    records = [(recipe, recipe.build(tree, commit, limits))]
    records += recipe.also_built(tree, commit)
    images = {each.app: ImagePlace(path.parent, path.parent) for each, path in records}
    made = _hashes(tree, records)
    failed_run = recipe.run_after(tree, limits) or _changed(made, _hashes(tree, records))
    keys = {each.app: each.fingerprint(tree, commit) for each, _ in records}
    return MadeHead(images, keys, failed_run)


def _hashes(tree: Worktree, records: Iterable[tuple[AnyBuildRecipe, Path]]) -> Mapping[str, str]:
    """Hash the images and all that ships with them, by path; empty for a missing file."""
    names: set[str] = set()
    for recipe, record in records:
        if recipe.steps.run:
            named = (recipe.files.image, recipe.files.shipped)
            names |= {path.partition("!")[0] for path in named if path}
            ships = record.parent / SHIPS
            names |= {each.relative_to(ships).as_posix() for each in ships.rglob("*")}
    places = {name: tree.path / name for name in sorted(names)}
    return {name: file_hash(place) if place.is_file() else "" for name, place in places.items()}


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Name an image that the command after the build changed; empty for none."""
    changed = (name for name in before if before[name] != after[name])
    name = next(changed, "")
    return f"it changes {name}, which was measured before; change it in build" if name else ""


def packed(made: MadeHead) -> PackedHead:
    """Pack the files of all images."""
    import tarfile  # 4 ms

    images = {}
    for app, place in made.images.items():
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as archive:
            archive.add(place.folder, arcname=".")
        images[app] = str(place.gathered_in), data.getvalue()
    return PackedHead(images, made.keys, made.failed_run)


def unpacked(head: PackedHead, folder: Path) -> MadeHead:
    """Unpack all images below a folder."""
    import tarfile

    images = {}
    for app, (gathered_in, data) in head.images.items():
        place = folder / app
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            # Debian 12 has Python 3.11.2, whose extractall() has no filter.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(place)
        images[app] = ImagePlace(place, Path(gathered_in))
    return MadeHead(images, head.keys, head.failed_run)
