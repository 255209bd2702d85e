"""A recipe for an app of any project: the build commands of sizeguard.yaml."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import time
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError
from sizeguard.base.fingerprint import files_key, fingerprint, package_hash
from sizeguard.builds import RECORD
from sizeguard.builds.build_inputs import BuildInputs
from sizeguard.git.own_filters import own_filters
from sizeguard.git.trees import Reads, Scope, check_scope, opened_hash, reads_hash, tree_hash
from sizeguard.git.worktrees import EVERYTHING, Worktree, path_length
from sizeguard.projects.command import own_command
from sizeguard.projects.compiler_cache import ccache_path, note_other_inputs, other_inputs
from sizeguard.projects.kept_link import records_of_tree
from sizeguard.projects.known_reads import FOLDER as READS
from sizeguard.projects.known_reads import KnownReads
from sizeguard.projects.project import CONFIG, App, BuildSteps, ImageFiles
from sizeguard.projects.steps.commit_steps import images_apart, scope_of_commit, steps_of_commit
from sizeguard.projects.steps.kept_setup import is_as_noted, note_setup, setup_key
from sizeguard.projects.steps.left_outputs import check_made, note_shipped, remove_outputs
from sizeguard.toolchains.environment import (
    build_environment,
    command_variables,
    recorded_environment,
)
from sizeguard.toolchains.installed import package_lists
from sizeguard.toolchains.links.recording import Recording
from sizeguard.toolchains.links.watched_git import begin_now, differing, git_watch, outside_files
from sizeguard.toolchains.logged import run_logged
from sizeguard.toolchains.native_code import tools_of
from sizeguard.toolchains.read_files import (
    WATCHED_ENVIRONMENT,
    ReadFiles,
    read_since,
    watch,
    watch_git,
)
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits

# Files of the policy, which builds hardly read: sizeguard.yaml, waivers, baselines.
_TERMS = (CONFIG, "baselines/waivers.yaml", "baselines/*.*.*.yaml")


@dataclass(frozen=True, slots=True)
class AnyBuildRecipe:
    """An image of an app of any project, for a target.

    app: name of the image's app
    group: name in sizeguard.yaml; image: name among the steps' images
    store: folder with the known reads of builds, which decide whether two commits have equal
            builds; None if reads are not watched
    twins: recipes of the images of other apps that the same commands build
    by_all_files: all files decide that are in scope or that builds opened, read or not
    is_fixed: whether `reads` decide, not those that the store has now
    with_links: keep the records of links
    apart: paths of the other images of the same commands, which have sizes of their own
    """

    app: str
    target: str
    steps: BuildSteps
    group: str = ""
    image: str = ""
    store: Path | None = None
    twins: tuple[AnyBuildRecipe, ...] = field(default=(), compare=False)
    by_all_files: bool = False
    is_fixed: bool = False
    reads: Reads | None = None
    with_links: bool = True
    apart: tuple[str, ...] = ()

    @property
    def files(self) -> ImageFiles:
        """The files of the image."""
        return self.steps.images[self.image]

    def key(self, repository: Path, commit: str, path_length: int) -> Mapping[str, object]:
        """Collect everything that the measurement depends on.

        path_length: length of the worktree's path, which compilers write into binaries.
        """
        steps, files, environment = self.steps, self.files, self._recorded()
        told = (steps.setup, steps.build, *environment.values())
        return {
            "build": "steps",
            "tree": self._tree_hash(repository, commit),
            # A change that ignores more files than its base is never equal to the base.
            "scope": scope_of_commit(repository, commit, self.group or self.app, self.target),
            "commands": [steps.setup, steps.build, steps.clean],
            "image": [files.image, files.map, files.debug, files.shipped, files.strip],
            "lists": [files.objects, files.also, files.may_lack, self.apart],
            "environment": environment,
            "path_length": path_length,
            "toolchain": tools_of(repository, commit, told),
            "packages": files_key(package_lists()),
            "package": package_hash(),
            **({"rules": steps.rules} if steps.rules else {}),
            **({} if self.with_links else {"links": "none"}),
            **self._stripping(repository, commit),
        }

    def _stripping(self, repository: Path, commit: str) -> Mapping[str, object]:
        """Hash all files if one of them strips the image, since its reads are not watched."""
        if "/" not in self.files.strip or Path(self.files.strip).is_absolute():
            return {}
        return {"strips": tree_hash(repository, commit, Scope(unnamed=_TERMS))}

    def left_out(self, repository: Path, commit: str, inputs: BuildInputs | None) -> str:
        """Return nothing: the key has the files that builds were seen to read."""
        return ""

    def build(self, tree: Worktree, commit: str, limits: Limits) -> Path:
        """Run the commands in the checked-out tree; return the path of build.json.

        Raises DoesNotBuildError, or BuildError if the machine fails.
        """
        start = time.monotonic()
        note_other_inputs(tree, commit, None if self.steps.clean else self._reads)
        if self._is_set_up(tree, commit):
            begin_now(tree.path)
            self._run(self.steps.clean, tree, limits, start)
            images = [*self.steps.images.values(), *(twin.files for twin in self.twins)]
            remove_outputs(tree, commit, images)
            self._build(tree, limits, start)
            return self.gathered(tree, commit)
        tree.setup.unlink(missing_ok=True)
        tree.clean()
        with self._watched(tree, commit) as is_watched:
            self._run(self.steps.setup, tree, limits, start)
            if self.steps.clean:
                read = read_since(tree.path) if is_watched else None
                note_setup(tree, commit, self._scope, self._setup_key(), read)
            self._build(tree, limits, start)
        return self.gathered(tree, commit)

    def _build(self, tree: Worktree, limits: Limits, start: float) -> None:
        """Run the build command, and record its links."""
        records = records_of_tree(tree)
        if records.exists():
            shutil.rmtree(records)
        with Recording(records) as recording:
            self._run(self.steps.build, tree, limits, start, recording)

    @contextmanager
    def _watched(self, tree: Worktree, commit: str) -> Iterator[bool]:
        """Store the files that commands read, even after a failure, which is stored, too.

        Yields whether reads are watched.

        Raises BuildError if they read a file of the checkout that differs from the commit's.
        """
        known = self._known_reads
        is_watched = (known is not None or bool(self.steps.clean)) and watch(tree.path)
        if not is_watched:
            begin_now(tree.path)
        outside: frozenset[str] = frozenset()
        try:
            yield is_watched
        finally:
            if is_watched and known is not None:
                read = read_since(tree.path)
                outside = outside_files(tree.repository, tree.path, read.files)
                known.add(read | ReadFiles(outside))
            elif known is not None:
                known.add_unwatchable()
        other = differing(tree.repository, commit, outside)
        if other:
            raise BuildError(
                f"the commands read {other[0]} in the checkout, not in the worktree where they"
                f" run; it differs from that of {commit[:10]}, so the sizes would be wrong"
            )

    def also_built(self, tree: Worktree, commit: str) -> Iterator[tuple[AnyBuildRecipe, Path]]:
        """Gather the other images of the same build.

        An image of another app may be missing; the build of that app reports it.
        """
        for name in self.steps.images:
            if name != self.image:
                apart = sorted({*self.apart, self.files.image} - {self.steps.images[name].image})
                other = replace(self, app=f"{self.group}.{name}", image=name, apart=(*apart,))
                yield other, other.gathered(tree, commit)
        for twin in self.twins:
            with contextlib.suppress(DoesNotBuildError):
                yield twin, twin.gathered(tree, commit)

    def gathered(self, tree: Worktree, commit: str) -> Path:
        """Gather the image that was built; return the path of build.json."""
        # numpy takes 45 ms to import; a gate that builds nothing does without it.
        from sizeguard.projects.gathering.gathered import MadeImage, gather

        check_made(tree, commit, self.files)
        key = self.fingerprint(tree, commit)
        about = (self.app, self.target, self.files, key, self.steps.build, self.steps.rules)
        made = MadeImage(*about, self.apart)
        folder = tree.made / self.app
        gather(tree.path, made, folder, records_of_tree(tree) if self.with_links else None)
        note_shipped(tree, folder)
        return folder / RECORD

    def run_after(self, tree: Worktree, limits: Limits) -> str:
        """Run the command that has to exit with 0; return the error, or an empty string."""
        if not self.steps.run:
            return ""
        watch_git(tree.path)  # our own commands asked git, too
        try:
            # Without our library, which a program with a dynamic sanitizer refuses
            self.without_store._run(self.steps.run, tree, limits, time.monotonic())
        except BuildError as error:
            return str(error)
        finally:
            if self._known_reads is not None:
                self._known_reads.add(read_since(tree.path))
        return ""

    def fingerprint(self, tree: Worktree, commit: str) -> str:
        """Hash everything that the measurement depends on, with the reads that are known now."""
        return fingerprint(self.key(tree.repository, commit, path_length(tree.path.parent)))

    def check(self, repository: Path, commit: str) -> None:
        """Raise InputError if `inputs` and `ignore` leave no file of a commit."""
        check_scope(repository, commit, self._scope)

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """Everything that decides the key of a commit in this process, with the known reads.

        The steps are named by their id, which is unique as long as they live.
        """
        names = (self.app, self.target, self.group, self.image, self.store, self.by_all_files)
        return (*names, self.with_links, self.apart, id(self.steps), self._reads)

    @property
    def _reads(self) -> Reads | None:
        """The reads that decide now: fixed ones, else those that the store has."""
        if not self.is_fixed and self._known_reads is not None:
            return self._known_reads.get()
        return self.reads

    def _tree_hash(self, repository: Path, commit: str) -> str:
        """Hash the files of a commit that builds read, if known, else all files.

        Reads in a kept worktree, or on a file system without access times, are not seen:
        then only the scope decides.
        """
        filters = own_filters(repository, commit)
        if filters:  # their reads are not watched
            every = tree_hash(repository, commit, Scope(unnamed=_TERMS))
            return fingerprint({"tree": every, "filters": filters})
        if self.steps.clean:
            return tree_hash(repository, commit, self._scope)
        if (reads := self._reads) is None:
            return tree_hash(repository, commit, Scope(unnamed=_TERMS))
        which = opened_hash if self.by_all_files else reads_hash
        return which(repository, commit, self._scope, reads)

    def at(self, repository: Path, commit: str) -> AnyBuildRecipe:
        """Return the recipe that builds a commit with the commands of its own sizeguard.yaml."""
        steps = steps_of_commit(repository, commit, self.app, self.target, self.steps)
        apart = images_apart(repository, commit, self.app, self.target, self.apart)
        if steps is self.steps:
            return self if apart == self.apart else replace(self, apart=apart, twins=())
        own = replace(self, steps=steps, apart=apart, twins=(), reads=None, is_fixed=False)
        return own.as_known if self.is_fixed else own

    @property
    def unwatched(self) -> AnyBuildRecipe:
        """The same recipe, but with all files as inputs, also those that no build read."""
        return replace(self, by_all_files=True)

    @property
    def without_store(self) -> AnyBuildRecipe:
        """The same recipe without watched reads: all files are inputs of its builds."""
        return replace(self, store=None, reads=None, is_fixed=False)

    @property
    def as_known(self) -> AnyBuildRecipe:
        """The same recipe, whose keys stay as they are now while its builds show more reads."""
        reads = self._known_reads.get() if self._known_reads is not None else None
        return replace(self, reads=reads, is_fixed=True, by_all_files=True)

    def forget_reads(self) -> None:
        """Use all files as inputs from now on, because a build's reads were not watched."""
        if self._known_reads is not None:
            self._known_reads.add(None)

    @property
    def _known_reads(self) -> KnownReads | None:
        """The files that these commands read; None if the worktree and its objects are kept."""
        if self.store is None or self.steps.clean:
            return None
        steps = self.steps
        told = [self.target, steps.setup, steps.build, steps.run]
        return KnownReads(self.store / READS, fingerprint({"commands": told}))

    @property
    def _scope(self) -> Scope:
        return Scope(self.steps.inputs, self.steps.ignore, _TERMS)

    @property
    def map(self) -> str:
        """build.json names the map."""
        return ""

    @property
    def text(self) -> str:
        """Describe the build: `parse for x86_64-linux by cmake --build build`."""
        return f"{self.app} for {self.target} by {self.steps.build}"

    @property
    def build_name(self) -> str:
        """Name the build of all images of the app, and of apps that it makes, too."""
        names = {each.group or each.app for each in (self, *self.twins)}
        return f"{', '.join(sorted(names))} for {self.target}"

    @property
    def kept_folders(self) -> tuple[str, ...]:
        """Keep the worktree if the project has a clean command, else build from scratch.

        It is unknown whether another project's build detects outdated outputs.
        """
        return EVERYTHING if self.steps.clean else ()

    def _run(
        self,
        command: str,
        tree: Worktree,
        limits: Limits,
        start: float,
        recording: Recording | None = None,
    ) -> None:
        """Run a command. recording: records its links."""
        if not command:
            return
        used = time.monotonic() - start
        if limits.timeout is None or self.steps.timeout - used < limits.timeout:
            option = f"timeout in {CONFIG}"
            limits = replace(limits, timeout=self.steps.timeout, timeout_option=option, used=used)
        jobs = str(limits.jobs or os.cpu_count() or 1)
        more = {**ccache_path(command), **own_command(), **WATCHED_ENVIRONMENT, **self._given()}
        more |= other_inputs(tree, {**build_environment(), **more})
        more.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", jobs)
        if self._known_reads is not None or command == self.steps.setup:
            more |= git_watch(tree.repository, tree.path, {**build_environment(), **more})
        if recording is not None:
            more = recording.environment({**build_environment(), **more})
        run_logged(["/bin/sh", "-c", command], tree, more, limits, build_environment())

    def _given(self) -> dict[str, str]:
        """Return the environment variables that sizeguard.yaml names, with their values."""
        told = {
            name: os.environ.get(name) if value is None else value
            for name, value in self.steps.env.items()
        }
        return {name: value for name, value in told.items() if value is not None}

    def _recorded(self) -> Mapping[str, str]:
        return {**_code_environment(tuple(os.environ.items())), **self._given()}

    def _setup_key(self) -> str:
        return setup_key(self.group or self.app, self.target, self.steps, self._recorded())

    def _is_set_up(self, tree: Worktree, commit: str) -> bool:
        """Return whether the tree has a kept build, whose setup would be the same for a commit."""
        if not self.steps.clean or not tree.setup.is_file():
            return False
        return is_as_noted(tree, commit, self._scope, self._setup_key())


# Every key of a measurement has these variables; filtering them takes 0.2 ms.
@functools.lru_cache(16)
def _code_environment(given: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return command_variables(recorded_environment(dict(given)))


def recipe_of_app(app: App, target: str, store: Path | None) -> AnyBuildRecipe | None:
    """Return the recipe for commits of an app; None if its image is measured as found.

    store: folder with the known reads of earlier builds
    """
    if not app.steps[target].build:
        return None
    images = {app.steps[target].images[app.image].image, *app.other_images(target)}

    def one(each: App) -> AnyBuildRecipe:
        steps = each.steps[target]
        apart = tuple(sorted(images - {steps.images[each.image].image}))
        return AnyBuildRecipe(each.name, target, steps, each.group, each.image, store, apart=apart)

    return replace(one(app), twins=tuple(map(one, app.twins_for(target))))
