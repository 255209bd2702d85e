"""A recipe that runs any shell command."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.fingerprint import package_hash
from sizeguard.builds.build_inputs import BuildInputs
from sizeguard.git.trees import Scope, check_scope, tree_hash
from sizeguard.git.worktrees import Worktree
from sizeguard.projects.compiler_cache import ccache_path
from sizeguard.toolchains.environment import command_variables, recorded_environment
from sizeguard.toolchains.logged import run_logged
from sizeguard.toolchains.native_code import tools_of
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits

_EVERYTHING = Scope()
_NAMED = re.compile(r"\$\{?([A-Za-z_]\w*)")  # variables in a shell command


@dataclass(frozen=True, slots=True)
class CommandRecipe:
    """A shell command that runs in the root of the worktree, and the binary that it makes.

    image: path from the root; map: path of a linker map, or empty
    scope: the files of a commit that the command reads; all by default
    """

    command: str
    image: str
    map: str = ""
    scope: Scope = _EVERYTHING

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """The recipe itself."""
        return (self,)

    def key(self, repository: Path, commit: str, path_length: int) -> Mapping[str, object]:
        """Collect everything that the measurement depends on.

        path_length: length of the worktree's path, which compilers write into binaries.
        """
        return {
            "build": "command",
            "tree": tree_hash(repository, commit, self.scope),
            "command": self.command,
            "image": self.image,
            "map": self.map,
            "path_length": path_length,
            "toolchain": tools_of(repository, commit, [self.command, *self._variables().values()]),
            "environment": self._variables(),
            "package": package_hash(),
        }

    def _variables(self) -> Mapping[str, str]:
        """Return the variables that compilers use, and those that the command names."""
        named = {name: os.environ.get(name, "") for name in _NAMED.findall(self.command)}
        return {**command_variables(recorded_environment()), **named}

    def build(self, tree: Worktree, commit: str, limits: Limits) -> Path:
        """Run the command in the checked-out tree; return the path of the image.

        Raises DoesNotBuildError if the command fails or makes no image, BuildError if the machine
        fails.
        """
        more = ccache_path(self.command)
        if limits.jobs:
            more["CMAKE_BUILD_PARALLEL_LEVEL"] = str(limits.jobs)
        run_logged(["/bin/sh", "-c", self.command], tree, more, limits)
        image = tree.path / self.image
        if not image.is_file():
            raise DoesNotBuildError(f"the build command made no {self.image}")
        return image

    def at(self, repository: Path, commit: str) -> CommandRecipe:
        """Return this recipe: one command builds all commits."""
        return self

    def left_out(self, repository: Path, commit: str, inputs: BuildInputs | None) -> str:
        """Return nothing: the key has all files in scope."""
        return ""

    def also_built(self, tree: Worktree, commit: str) -> Iterator[tuple[CommandRecipe, Path]]:
        """Return nothing, because a command makes one image."""
        return iter(())

    def check(self, repository: Path, commit: str) -> None:
        """Raise InputError if `scope` leaves no file of a commit."""
        check_scope(repository, commit, self.scope)

    @property
    def text(self) -> str:
        """Describe the build: `app by make`."""
        return f"{self.image} by {self.command}"

    @property
    def build_name(self) -> str:
        """Name the build; it makes one image."""
        return self.text

    @property
    def kept_folders(self) -> tuple[str, ...]:
        """Keep no folder from one commit to the next.

        It is unknown whether another project's build detects outdated outputs.
        """
        return ()


def own_command() -> dict[str, str]:
    """Return SIZEGUARD, the command that runs, for builds that generate code by it."""
    command = Path(sys.executable).with_name("sizeguard")
    return {"SIZEGUARD": str(command)} if command.is_file() else {}


def check_command(command: str, image: str) -> None:
    """Raise InputError for an image outside the worktree."""
    if not command.strip():
        raise InputError("--build-command is empty")
    if not image:
        raise InputError("--build-command needs --image: the file that the command makes")
    if image.startswith("/") or ".." in PurePosixPath(image).parts:
        raise InputError(
            f"--image {image}: name the file that the build command makes, from the root of the"
            " worktree"
        )
