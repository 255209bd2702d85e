"""Find the commit, inputs and tools of a build, so that its snapshot can say them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sizeguard.base.errors import BuildError, InputError
from sizeguard.base.fingerprint import fingerprint
from sizeguard.builds import RECORD
from sizeguard.builds.build_record import Build, read_build
from sizeguard.git.worktrees import path_length
from sizeguard.measurement.store_place import project_store
from sizeguard.projects.any_build import AnyBuildRecipe, recipe_of_app
from sizeguard.projects.head_builds import WORKTREES, HeadBuilds
from sizeguard.projects.reader import read_config
from sizeguard.projects.root import find_project
from sizeguard.snapshots.magic import is_snapshot
from sizeguard.snapshots.origin import Origin

RULES = "rules"  # name of the part that decides components
_DIGITS = 16  # of a part's hash: 64 bits


def origin_of_build(path: Path) -> Origin | None:
    """Return the origin of a build, by its folder or build.json; a snapshot keeps its own.

    None for any other file.

    The commit is told only if the build is of the files that are checked out now.
    """
    if is_snapshot(path):
        # Imported on call: numpy takes 50 ms, and a gate without changes reads no snapshot.
        from sizeguard.snapshots.snapshot import read_snapshot

        return read_snapshot(path).origin
    file = path / RECORD if path.is_dir() else path
    if file.name != RECORD or not file.is_file():
        return None
    build = read_build(file)
    found = _checked_out(file, build)
    if found is None:
        return Origin(parts=rules_part(build), tools=build.tools)
    root, recipe, commit = found
    return Origin(commit, parts_of(recipe, root, commit), build.tools)


def parts_of(recipe: AnyBuildRecipe, root: Path, commit: str) -> dict[str, str]:
    """Hash each part that the measurement of a commit depends on, by all of its files."""
    return _hashes(recipe.unwatched.key(root, commit, path_length(root / WORKTREES)))


def rules_part(build: Build) -> dict[str, str]:
    """Hash the project's own rules, by which a build was measured; empty without any."""
    return _hashes({RULES: build.rules} if build.rules else {})


def _hashes(parts: Mapping[str, object]) -> dict[str, str]:
    return {name: fingerprint({name: value})[:_DIGITS] for name, value in parts.items()}


class _CheckedOut(NamedTuple):
    """The recipe and the commit of checked-out files. root: of the project."""

    root: Path
    recipe: AnyBuildRecipe
    commit: str


def _checked_out(file: Path, build: Build) -> _CheckedOut | None:
    """Find what made a build; None if a file that it read differs now."""
    root = find_project()
    if root is None:
        return None
    try:
        config = read_config(root)
        app = next((app for app in config.apps if app.name == build.app), None)
        if app is None or build.target not in app.steps:
            return None
        heads = HeadBuilds(root, is_git=True, store=project_store(root).folder)
        recipe = recipe_of_app(app, build.target, heads.store)
        if recipe is None or file.parent.resolve() != heads.folder(app.name, build.target):
            return None
        last = heads.last(recipe, build.target)
        if last is None or last.fingerprint != build.fingerprint:
            return None
        return _CheckedOut(root, recipe, heads.commit)
    except (InputError, BuildError):
        return None  # not git, or another sizeguard.yaml
