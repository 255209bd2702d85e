"""The interface Recipe: how a commit becomes a build."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sizeguard.base.errors import BuildError
from sizeguard.git.worktrees import Worktree


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one build.

    jobs:    compilers at once, all cores for None
    timeout: seconds; timeout_option: what a person gives more
    stop:    set by another thread to end the build
    """

    jobs: int | None = None
    timeout: float | None = None
    timeout_option: str = "--timeout"
    stop: threading.Event | None = None


class ReadsElsewhereError(BuildError):
    """The build of a commit reads files that are not the commit's, or that its key leaves out.

    Its measurement would stand for commits that differ in them, so it is not kept.
    """


class StoppedError(BuildError):
    """A build that ended because Limits.stop was set."""


class DoesNotBuildError(BuildError):
    """The commit's own build fails: a fact about the commit. str() is the first error."""


class Recipe(Protocol):
    """Build a commit that is checked out in a worktree."""

    @property
    def map(self) -> str:
        """The path of a linker map from the worktree's root; empty if the build's record has it."""
        ...

    @property
    def text(self) -> str:
        """The build in words, for people."""
        ...

    @property
    def build_name(self) -> str:
        """The build itself: of one commit, recipes of equal names build the same files."""
        ...

    @property
    def kept_folders(self) -> tuple[str, ...]:
        """Folders of the worktree that stay from one commit to the next."""
        ...

    def check(self, repository: Path, commit: str) -> None:
        """Raise InputError if the recipe reads nothing of a commit: all would look equal."""
        ...

    def key(self, repository: Path, commit: str, path_length: int) -> Mapping[str, object]:
        """Everything that the measurement depends on.

        path_length: of the worktree's path, in bytes; compilers write that path into binaries.
        """
        ...

    def build(self, tree: Worktree, commit: str, limits: Limits) -> Path:
        """Build what is checked out; return the path of the image or of its build.json.

        Raises DoesNotBuildError if the commit does not build, BuildError if the machine fails.
        """
        ...

    def also_built(self, tree: Worktree, commit: str) -> Iterable[tuple[Recipe, Path]]:
        """Yield other images of the same build: their recipes, and what build would return."""
        ...
