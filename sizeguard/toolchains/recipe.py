"""The interface Recipe, which builds a commit."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import BuildError
from sizeguard.builds.build_inputs import BuildInputs
from sizeguard.git.worktrees import Worktree


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one build.

    jobs:           number of compilers at the same time; None for all cores
    timeout:        seconds
    timeout_option: the option that sets it, for messages
    used:           seconds of the timeout that have passed
    stop:           another thread sets it to end the build
    """

    jobs: int | None = None
    timeout: float | None = None
    timeout_option: str = "--timeout"
    used: float = 0.0
    stop: threading.Event | None = None


class ReadsElsewhereError(BuildError):
    """The build of a commit reads files outside the commit, or files that its key leaves out.

    Its measurement would be reused for commits with other versions of these files, so it is not
    stored.
    """


class OtherImageError(BuildError):
    """The stripped file of a build is not of its image, so what ships has no known size."""

    exit_code = 3


class StoppedError(BuildError):
    """Raised if a build ended because Limits.stop was set."""


class DoesNotBuildError(BuildError):
    """The commit's own build fails. str() is the first error."""


class Recipe(Protocol):
    """Build a commit that is checked out in a worktree."""

    @property
    def map(self) -> str:
        """Path of a linker map from the worktree's root; empty if the build's record has it."""
        ...

    @property
    def text(self) -> str:
        """A description of the build for display."""
        ...

    @property
    def build_name(self) -> str:
        """Name of the build; recipes with equal names build the same files of a commit."""
        ...

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """Everything that decides the key of a commit in this process.

        Objects may be named by their id, so the recipe must live as long as what it identifies.
        """
        ...

    @property
    def kept_folders(self) -> tuple[str, ...]:
        """Folders of the worktree that are kept from one commit to the next."""
        ...

    def at(self, repository: Path, commit: str) -> Recipe:
        """Return the recipe with what the commit's own sizeguard.yaml says of the build."""
        ...

    def check(self, repository: Path, commit: str) -> None:
        """Raise InputError if the recipe reads nothing from a commit: all would look equal."""
        ...

    def key(self, repository: Path, commit: str, path_length: int) -> Mapping[str, object]:
        """Everything that the measurement depends on.

        path_length: length of the worktree's path in bytes; compilers write that path into
            binaries.
        """
        ...

    def left_out(self, repository: Path, commit: str, inputs: BuildInputs | None) -> str:
        """Name a file that a build in the checkout read and the key leaves out; empty for none.

        Commits with other versions of the file would have the same key.
        """
        ...

    def build(self, tree: Worktree, commit: str, limits: Limits) -> Path:
        """Build the checked-out commit; return the path of the image or of its build.json.

        Raises DoesNotBuildError if the commit does not build, BuildError if the machine fails.
        """
        ...

    def also_built(self, tree: Worktree, commit: str) -> Iterable[tuple[Recipe, Path]]:
        """Yield other images of the same build: their recipes, and the paths of their results."""
        ...
