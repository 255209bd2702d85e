"""Build the apps of any project from the checked-out files."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path

from sizeguard.base import OWN_FOLDER
from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError, InputError
from sizeguard.base.files import cannot_write, locked, write_if_changed
from sizeguard.base.fingerprint import file_hash, fingerprint, package_hash
from sizeguard.base.progress import Progress
from sizeguard.builds import RECORD
from sizeguard.builds.build_record import Build, read_build
from sizeguard.builds.image_tools import MEASURED, kind_of_image
from sizeguard.builds.packages.members import (
    copy_of_member,
    file_of_image,
    member_of,
    split_pattern,
)
from sizeguard.git.checked_out import checked_out_commit
from sizeguard.git.git import git, head_id
from sizeguard.git.worktrees import path_length, worktree
from sizeguard.projects.any_build import AnyBuildRecipe, recipe_of_app
from sizeguard.projects.gathering.linked_globs import files_matching
from sizeguard.projects.made_heads import MadeHead, PackedHead, make_head, unpacked
from sizeguard.projects.project import SHIPS, App, ImageFiles
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits

WORKTREES = Path(OWN_FOLDER) / "worktrees"
_BUILDS = Path(OWN_FOLDER) / "builds"
_RUN_LOG = "run.json"  # the command after the build, its timeout, and its error or nothing


@dataclass(frozen=True, slots=True)
class HeadBuild:
    """The build of an app from the checked-out files.

    recipe: builds the app's other commits; None for an image that is measured as found
    commit: commit of the checked-out files; empty without a recipe, and outside git
    failed_run: error of the command after the build; empty without a command, or if it exited with
        0
    in_place: the image comes from the build in the checkout
    """

    build: Build
    recipe: AnyBuildRecipe | None
    commit: str
    failed_run: str = ""
    in_place: bool = False


@dataclass(frozen=True)
class HeadBuilds:
    """Build the checked-out files of a project.

    in_place: measure the checkout's own files, and build nothing
    is_git:   whether the project is the root of a repository, perhaps without commits
    store:    folder with the known reads of builds; without it, a build depends on all files
    failures: by name in sizeguard.yaml and target: commands that fail for one of its images are not
        repeated for the others
    """

    root: Path
    is_git: bool
    in_place: bool = False
    store: Path | None = None
    failures: dict[tuple[str, str], BuildError] = field(default_factory=dict, compare=False)

    @cached_property
    def commit(self) -> str:
        """The commit of the checked-out files, computed once per run."""
        ignore_own_folder(self.root, self.is_git)
        return checked_out_commit(self.root)

    def recipe(self, app: App, target: str) -> AnyBuildRecipe | None:
        """Return the recipe for commits of an app; None if its image is measured as found.

        An image in place has no record of its link. Other commits are then measured without one,
        or bytes would seem to move between operators.
        """
        found = recipe_of_app(app, target, self.store)
        if found is None or not self.in_place:
            return found
        twins = tuple(replace(twin, with_links=False) for twin in found.twins)
        return replace(found, twins=twins, with_links=False)

    def build(self, app: App, target: str) -> HeadBuild:
        """Build an app for a target, or return its last build if none of its inputs changed.

        Raises BuildError, and InputError if there is no commit to build.
        """
        recipe = self.recipe(app, target)
        if recipe is None or self.in_place:
            found = self._found(app, target, recipe)
            commit = self.commit if recipe is not None and self.is_git else ""
            return HeadBuild(found, recipe, commit, in_place=recipe is not None)
        if not self.is_git:
            raise InputError(
                f"{self.root}: not the root of a git repository with a checked-out commit,"
                f" which {app.name} is built from; --in-place measures the files that are here"
            )
        recipe.check(self.root, self.commit)
        build = self.last(recipe, target)
        if build is None:
            build = self._build_once(recipe, target)
        failed_run = _failed_run(self.folder(app.name, target), recipe)
        if failed_run is None:
            raise BuildError(f"{app.name} for {target}: another gate builds it; run this one again")
        return HeadBuild(build, recipe, self.commit, failed_run)

    def _build_once(self, recipe: AnyBuildRecipe, target: str) -> Build:
        name = recipe.group or recipe.app
        if (name, target) in self.failures:
            raise self.failures[name, target]
        try:
            with Progress(f"building {name}", target) as progress:
                build = self.build_now(recipe, target, Limits())
                progress.step(1, 1)
        except BuildError as error:
            self.failures[name, target] = error
            raise
        return build

    def to_build(self, app: App, target: str) -> AnyBuildRecipe | None:
        """Return the recipe for an app on a target; None if it need not or cannot be built."""
        recipe = self.recipe(app, target)
        if recipe is None or self.in_place or not self.is_git:
            return None
        return recipe if self.last(recipe, target) is None else None

    def last(self, recipe: AnyBuildRecipe, target: str) -> Build | None:
        """Read the last build; None if one of its inputs changed since.

        The command after the build is no part of the key, since it decides no size.
        """
        if _failed_run(self.folder(recipe.app, target), recipe) is None:
            return None
        # A build that was not watched depends on all files
        for each in (recipe, recipe.unwatched):
            key = each.key(self.root, self.commit, path_length(self.root / WORKTREES))
            if (build := _kept(self.folder(recipe.app, target), fingerprint(key))) is not None:
                return build
        return None

    def is_kept(self, app: App, target: str) -> bool:
        """Return whether the folder of an app has the build of the checked-out files."""
        recipe = self.recipe(app, target)
        if recipe is None or self.in_place:
            return _kept(self.folder(app.name, target), self.content(app, target)) is not None
        return self.last(recipe, target) is not None

    def build_now(self, recipe: AnyBuildRecipe, target: str, limits: Limits) -> Build:
        """Build all images of an app, and keep them. Raises BuildError or InputError."""
        name = recipe.group or recipe.app
        try:
            with (
                worktree(self.root, self.root / WORKTREES) as tree,
                tree.check_out(self.commit, recipe.kept_folders),
            ):
                failure: DoesNotBuildError | None = None
                try:
                    builds = self._moved(make_head(tree, recipe, self.commit, limits), recipe)
                except DoesNotBuildError as error:
                    failure = error  # raised here, it would leave the worktree as an unknown state
        except (BuildError, InputError) as error:
            raise type(error)(f"{name} for {target}: {error}") from error
        if failure is not None:
            raise BuildError(f"{name} for {target} does not build: {failure}; log: {tree.log}")
        return builds[recipe.app]

    def keep(self, packed: PackedHead, recipe: AnyBuildRecipe) -> None:
        """Store the images of an app that were built elsewhere without watching reads."""
        recipe.forget_reads()
        builds = self.root / _BUILDS
        builds.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=builds, prefix="unpacked-") as folder:
            self._moved(unpacked(packed, Path(folder)), recipe)

    def _moved(self, made: MadeHead, recipe: AnyBuildRecipe) -> Mapping[str, Build]:
        """Move the images of a build to their folders, and read their records, by app."""
        # As in any_build: numpy need not be imported if nothing is built.
        from sizeguard.projects.gathering.gathered import moved

        builds = {}
        for app, place in made.images.items():
            folder, key = self.folder(app, recipe.target), made.keys[app]
            folder.parent.mkdir(parents=True, exist_ok=True)
            # A gate that runs at the same time may have kept the same build, and still read it
            with locked(folder.with_name(f"{folder.name}.lock")):
                kept = _kept(folder, key)
                builds[app] = kept or moved(place.folder, folder, key, place.gathered_in)
                told = json.dumps([recipe.steps.run, recipe.steps.timeout, made.failed_run])
                (folder / _RUN_LOG).write_text(told, encoding="utf-8")
        return builds

    def _found(self, app: App, target: str, recipe: AnyBuildRecipe | None) -> Build:
        """Gather the files of an image that is measured as found."""
        from sizeguard.projects.gathering.gathered import MadeImage, gather

        ignore_own_folder(self.root, self.is_git)
        steps = app.steps[target]
        files, content = steps.images[app.image], self.content(app, target)
        apart = app.other_images(target)
        made = MadeImage(app.name, target, files, content, rules=steps.rules, apart=apart)
        folder = self.folder(app.name, target)
        try:
            return _kept(folder, made.fingerprint) or gather(self.root, made, folder)
        except DoesNotBuildError as error:
            hint = (
                f": {recipe.steps.build}"
                if recipe is not None
                else ", or name the command with build:"
            )
            raise BuildError(f"{app.name} for {target}: {error}{hint}") from error

    def content(self, app: App, target: str) -> str:
        """Hash everything that the measurement of an image as found depends on."""
        steps = app.steps[target]
        files = steps.images[app.image]
        globs = (*files.objects, *files.also)
        named = [files.image, files.map, files.debug, files.shipped]
        found = [file_of_image(self.root / name) for name in named if name]
        places = {place for each in globs for place in (each, split_pattern(each)[0])}
        found += [
            path for each in sorted(places - {""}) for path in files_matching(self.root, each)
        ]
        if files.debug:  # may be a .dSYM, or a folder with the debug files of several images
            found += sorted((self.root / files.debug).rglob("*"))
        hashes = {str(path): file_hash(path) for path in found if path.is_file()}
        hashes |= self._needed(files, app.other_images(target))
        settings = [*named, files.strip, *globs]
        settings += [steps.rules] if steps.rules else []
        return fingerprint({"found": hashes, "files": settings, "package": package_hash()})

    def _needed(self, files: ImageFiles, apart: tuple[str, ...]) -> Mapping[str, str]:
        """Hash the libraries that an image as found and its `also` need; none if it is unreadable.

        apart: images with limits of their own, which do not count for this one
        """
        # As in any_build: numpy need not be imported if everything is built.
        from sizeguard.projects.gathering.shipped_files import Surroundings, copy_shipped

        name, also = files.image, tuple[Path, ...]()
        with tempfile.TemporaryDirectory(prefix="sizeguard-") as folder:
            image = self.root / name
            if member_of(image):
                image = Path(folder) / "image"
                with contextlib.suppress(InputError):  # gather says what is missing
                    copy_of_member(self.root / name, image)
            if not image.is_file() or kind_of_image(image) not in MEASURED:
                return {}
            with contextlib.suppress(DoesNotBuildError):
                ships, others = Path(folder) / SHIPS, frozenset((*apart, name))
                also = copy_shipped(self.root, files, ships, "", others)
            around = Surroundings.of(self.root, name, apart, in_place=True)
            needed = around.needed([image, *also], Path(folder))
            return {str(path): file_hash(library) for library, path in needed}

    def folder(self, app: str, target: str) -> Path:
        """Return the folder of an app's last build for a target."""
        return self.root / _BUILDS / f"{app}.{target}"


def ignore_own_folder(root: Path, is_git: bool) -> None:
    """Make .sizeguard, and let git ignore it with all its files.

    Raises InputError if git tracks a file in it, because its files are trusted.
    """
    folder = root / OWN_FOLDER
    if is_git:
        listed = git(root, "ls-files", "--", OWN_FOLDER)
        head = head_id(root)
        tracked = listed or (head and git(root, "ls-tree", "--name-only", head, "--", OWN_FOLDER))
        if tracked:
            first = tracked.splitlines()[0]
            raise InputError(
                f"git tracks {first}, so a change can write it: git rm -r {OWN_FOLDER}"
            )
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    write_if_changed(folder / ".gitignore", "*\n")


def _failed_run(folder: Path, recipe: AnyBuildRecipe) -> str | None:
    """Return the error of the command after the last build; None if another command ran."""
    if not recipe.steps.run:
        return ""
    try:
        told = json.loads((folder / _RUN_LOG).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None  # a build without the command, or damaged
    match told:
        case [recipe.steps.run, recipe.steps.timeout, str(error)]:
            return error
    return None


def _kept(folder: Path, key: str) -> Build | None:
    """Read the build in a folder if it has this key and its image exists."""
    if not (folder / RECORD).is_file():
        return None
    try:
        build = read_build(folder)
    except InputError:
        return None  # of another version, or damaged: build again
    is_there = build.image.is_file() and build.shipped.is_file()
    return build if build.fingerprint == key and is_there else None
