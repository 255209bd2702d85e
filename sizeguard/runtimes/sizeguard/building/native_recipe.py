"""The recipe that builds commits of our own runtime."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.fingerprint import PACKAGE, package_hash
from sizeguard.base.kept.moment import kept_now
from sizeguard.builds.build_inputs import BuildInputs
from sizeguard.builds.build_record import RECORD, read_build
from sizeguard.git.tree_contents import relative_to
from sizeguard.git.worktrees import Worktree
from sizeguard.runtimes.sizeguard.building.commit_config import (
    TargetBuild,
    selection_of_commit,
    target_of_commit,
)
from sizeguard.runtimes.sizeguard.building.commit_inputs import runtime_hash
from sizeguard.runtimes.sizeguard.native_tree import (
    FOLDER,
    VERSION_FILE,
    is_source,
    usual_selection,
)
from sizeguard.toolchains.environment import code_variables, recorded_environment
from sizeguard.toolchains.installed import foreign_files, installed_folders
from sizeguard.toolchains.logged import run_logged
from sizeguard.toolchains.native_code import processor_of
from sizeguard.toolchains.recipe import DoesNotBuildError, Limits, ReadsElsewhereError
from sizeguard.toolchains.toolchain import Toolchain
from sizeguard.toolchains.unseen_reads import has_unseen_reads


@dataclass(frozen=True, slots=True)
class RuntimeRecipe:
    """A variant of our own runtime.

    The commit provides native/ and the selection; the running package builds and generates code.

    app: in the commit's sizeguard.yaml, or a folder of native/apps; empty for full, core or
         instrumented
    target: in sizeguard.yaml, whose tools and options a commit may change; empty if all commits
            are built alike
    refused: why a commit cannot be built with its own tools and options; empty if it can
    """

    toolchain: Toolchain
    app: str = ""
    variant: str = "selective"
    optimize: str = "s"
    target: str = ""
    refused: str = ""

    def at(self, repository: Path, commit: str) -> RuntimeRecipe:
        """Return the recipe with the tools and options of the commit's own sizeguard.yaml."""
        if not self.target:
            return self
        given = TargetBuild(self.toolchain, self.optimize, self.refused)
        own = target_of_commit(repository, commit, self.target, given)
        if own == given:
            return self
        return replace(self, toolchain=own.toolchain, optimize=own.optimize, refused=own.refused)

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """The recipe itself."""
        return (self,)

    def key(self, repository: Path, commit: str, path_length: int) -> Mapping[str, object]:
        """Collect everything that the measurement depends on.

        Our builds write no paths into images, so path_length does not matter.
        """
        selection = self.selection(repository, commit) if self.app else ""
        environment = code_variables(recorded_environment())
        native = processor_of(repository, commit, environment.values(), FOLDER)
        return {
            "build": "runtime",
            "sources": runtime_hash(repository, commit, selection),
            "selection": selection,
            "app": self.app,
            "variant": self.variant,
            "optimize": self.optimize,
            "compiler": f"{self.toolchain.compiler} {self.toolchain.compiler_version}",
            "linker": f"{self.toolchain.linker} {self.toolchain.linker_version}",
            "target": self.toolchain.target,
            "headers": self.toolchain.headers_version,
            "environment": environment,
            "package": package_hash(),
            **({"refused": self.refused} if self.refused else {}),
            **({"processor": native} if native else {}),
        }

    def selection(self, repository: Path, commit: str) -> str:
        """Find the app's selection in a commit.

        Its path is in sizeguard.yaml, else it is the default one.
        """
        return selection_of_commit(repository, commit, self.app) or usual_selection(self.app)

    def build(self, tree: Worktree, commit: str, limits: Limits) -> Path:
        """Build the checked-out tree; return the path of build.json.

        Raises DoesNotBuildError, or BuildError if the machine fails.
        """
        if self.refused:
            raise DoesNotBuildError(self.refused)
        tools = f"{self.toolchain.target}-{self.toolchain.compiler}-{self.toolchain.linker}"
        leaf = self.app or self.variant
        folder = tree.path / "build" / f"{tools}-O{self.optimize}-{leaf}"
        command = self._command(folder, limits)
        selection = ""
        if self.app:
            selection = self.selection(tree.repository, commit)
            if not (tree.path / selection).is_file():
                raise DoesNotBuildError(f"no such file: {selection}")
            command += ["--app", self.app, "--selection", selection]
        run_logged(command, tree, _cache(tree.repository, commit), limits)
        elsewhere = _elsewhere(read_build(folder / RECORD).inputs, tree.path, selection)
        if elsewhere:
            raise ReadsElsewhereError(
                f"{commit[:12]} reads {elsewhere}, which is not a source of the runtime, so its "
                f"measurement would also be used for other commits"
            )
        return folder / "build.json"

    def left_out(self, repository: Path, commit: str, inputs: BuildInputs | None) -> str:
        """Name a file that a build in the checkout read and the key leaves out; empty for none."""
        selection = self.selection(repository, commit) if self.app else ""
        return _elsewhere(inputs, repository, selection)

    def also_built(self, tree: Worktree, commit: str) -> Iterator[tuple[RuntimeRecipe, Path]]:
        """Return nothing, because a build folder has one app."""
        return iter(())

    def check(self, repository: Path, commit: str) -> None:
        """Do nothing, because our sources are always in scope."""

    def _command(self, folder: Path, limits: Limits) -> list[str]:
        # -P: use the running package, not the commit's package in the current folder.
        command = [sys.executable, "-P", "-m", "sizeguard", "build", self.variant]
        command += ["--output-dir", str(folder), "-O", self.optimize]
        command += ["--compiler", self.toolchain.compiler, "--linker", self.toolchain.linker]
        command += ["--target", self.toolchain.target]
        return [*command, *(["-j", str(limits.jobs)] if limits.jobs else [])]

    @property
    def map(self) -> str:
        """build.json names the map."""
        return ""

    @property
    def text(self) -> str:
        """Describe the build: `vision for x86_64-linux by gcc-12.2-bfd-2.40 -Os`."""
        return (
            f"{self.app or self.variant} for {self.toolchain.target} by {self.toolchain.name}"
            f" -O{self.optimize}"
        )

    @property
    def build_name(self) -> str:
        """Name the build; it makes one image."""
        return self.text

    @property
    def kept_folders(self) -> tuple[str, ...]:
        """Keep the build folder: ninja compiles one file for a commit that changed one file."""
        return ("build",)


def _elsewhere(inputs: BuildInputs | None, tree: Path, selection: str) -> str:
    """Name a file that a build in a tree read or looked for but that is not in the commit's key.

    The key has all names in the tree's root, so a missing path there needs no check.
    """
    if inputs is None:
        return "unrecorded files"
    foreign = foreign_files(inputs, tree)
    # The key has a hash of the package; the interpreter may be inside the project, too
    shared = (*installed_folders(tree), f"{PACKAGE}/", f"{tree}/build/")
    own = frozenset({selection, VERSION_FILE})
    looked_for = frozenset((*inputs.absent, *inputs.globs))
    return (
        next(iter(foreign), "")
        or _first_outside(tree, frozenset(inputs.files), shared, is_source, own)
        or _first_outside(tree, looked_for, shared, _is_listed, own)
    )


def _is_listed(path: str) -> bool:
    """Return whether a commit's key shows if a path exists."""
    return "/" not in path or path.startswith(f"{FOLDER}/")


def _first_outside(
    tree: Path,
    paths: frozenset[str],
    shared: tuple[str, ...],
    is_in_key: Callable[[str], bool],
    own: frozenset[str],
) -> str:
    """Name the first path in a tree that is not part of a commit's key; empty if there is none.

    shared: beginnings of paths that are not asked about; own: paths that are part of this key
    """
    known = kept_now(("in each key", tree, is_in_key), set[str])
    top = Path(os.path.realpath(tree))
    for path in sorted(paths - known):
        names = set(_inside(tree, top, path)) if not path.startswith(shared) else set()
        outside = sorted(name for name in names if not is_in_key(name))
        if not outside:
            known.add(path)
        for name in outside:
            if name not in own:
                return name
    return ""


def _inside(tree: Path, top: Path, path: str) -> Iterator[str]:
    """Yield a path relative to its tree, and where links lead; nothing for a path elsewhere.

    top: the tree, with links followed
    """
    if relative_to(tree, path) is None:
        return
    found = (relative_to(tree, path), relative_to(top, os.path.realpath(path)))
    yield from (each for each in found if each is not None)


def _cache(repository: Path, commit: str) -> Mapping[str, str]:
    """Return the variables that run compilers through ccache if its objects are the compilers'."""
    if has_unseen_reads(repository, commit):
        return {"CCACHE_DISABLE": "1"}
    names = ("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER")
    return dict.fromkeys(names, "ccache") if shutil.which("ccache") else {}
