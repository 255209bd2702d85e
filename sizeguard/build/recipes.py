"""Turns the files of a commit into a binary: by our own build, or by any command."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import yaml

from sizeguard.build.commit_inputs import Scope, file_of, host_toolchain, package_hash, runtime_hash, tree_hash
from sizeguard.build.git import git_environment
from sizeguard.build.toolchain import Toolchain
from sizeguard.build.worktree import MARKER, Worktree, end_orphans
from sizeguard.errors import BuildError, InputError

# What says that the machine failed, not the commit: nothing is learned from such a build.
_TRANSIENT = re.compile(
    r"No space left on device|Cannot allocate memory|virtual memory exhausted|out of memory|Disk quota exceeded|Killed signal terminated|"
    r"Too many open files|Resource temporarily unavailable",
    re.IGNORECASE,
)
_ERROR = re.compile(r"(?<![\w-])(?:fatal )?error[: ]|^\w+Error: |undefined reference|ERROR:", re.IGNORECASE)
_EVERYTHING = Scope()
_LOG_END = 1 << 20  # bytes of a log that are searched
_MASQUERADE = Path("/usr/lib/ccache")  # where Debian's ccache has links of the compilers' names


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one build. jobs: compilers at once, all cores for None; timeout: seconds; stop: set by another thread to end it."""

    jobs: int | None = None
    timeout: float | None = None
    stop: threading.Event | None = None


class StoppedError(BuildError):
    """Somebody set Limits.stop."""


class DoesNotBuildError(BuildError):
    """The commit's own build fails: a fact about the commit. str() is the first error."""


@dataclass(frozen=True, slots=True)
class RuntimeRecipe:
    """A variant of our own runtime. The commit gives native/ and the selection; the package that runs builds and generates code.

    app: of sizeguard.yaml of the commit, or a folder of native/apps; empty for full, core or instrumented
    """

    toolchain: Toolchain
    app: str = ""
    variant: str = "selective"
    optimize: str = "s"

    def key(self, repository: Path, commit: str, path_length: int) -> Mapping[str, object]:
        """What the measurement depends on. Our builds write no paths of their own, so path_length does not count."""
        selection = self.selection(repository, commit) if self.app else ""
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
            "package": package_hash(),
        }

    def selection(self, repository: Path, commit: str) -> str:
        """The path of the app's selection in a commit: as its sizeguard.yaml says, else where it usually is."""
        usual = f"native/apps/{self.app}/selected_operators.yaml"
        text = file_of(repository, commit, "sizeguard.yaml")
        return (_selection_in(text, self.app) if text is not None else None) or usual

    def build(self, tree: Worktree, commit: str, limits: Limits) -> Path:
        """Build what is checked out; the path of build.json. Raises DoesNotBuildError, or BuildError if the machine fails."""
        leaf = self.app or self.variant
        folder = tree.path / "build" / f"{self.toolchain.target}-{self.toolchain.compiler}-{self.toolchain.linker}-O{self.optimize}-{leaf}"
        # -P: the package that runs, not the one of the commit, which is the current folder.
        command = [sys.executable, "-P", "-m", "sizeguard.cli.main", "build", self.variant, "--output-dir", str(folder)]
        command += ["--compiler", self.toolchain.compiler, "--linker", self.toolchain.linker, "--target", self.toolchain.target]
        command += ["-O", self.optimize, *(["-j", str(limits.jobs)] if limits.jobs else [])]
        if self.app:
            selection = self.selection(tree.repository, commit)
            if not (tree.path / selection).is_file():
                raise DoesNotBuildError(f"there is no {selection}")
            command += ["--app", self.app, "--selection", selection]
        launcher = {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache"} if shutil.which("ccache") else {}
        run_logged(command, tree, launcher, limits)
        return folder / "build.json"

    @property
    def kept_folders(self) -> tuple[str, ...]:
        """ninja knows what is out of date: a commit that changed one file compiles one file."""
        return ("build",)


@dataclass(frozen=True, slots=True)
class CommandRecipe:
    """Any project: a shell command, run in the root of the work tree, and the binary it makes.

    image: its path from the root; map: that of a linker map, or empty
    scope: which files of a commit the command reads; all unless told
    """

    command: str
    image: str
    map: str = ""
    scope: Scope = _EVERYTHING

    def key(self, repository: Path, commit: str, path_length: int) -> Mapping[str, object]:
        """What the measurement depends on. path_length: of the work tree's path, which compilers write into binaries."""
        return {
            "build": "command",
            "tree": tree_hash(repository, commit, self.scope),
            "command": self.command,
            "image": self.image,
            "map": self.map,
            "path_length": path_length,
            "toolchain": host_toolchain(),
            "package": package_hash(),
        }

    def build(self, tree: Worktree, commit: str, limits: Limits) -> Path:
        """Run the command in what is checked out; the path of the image. Raises as RuntimeRecipe does."""
        more = {"PATH": f"{_MASQUERADE}{os.pathsep}{os.environ.get('PATH', '')}"} if _MASQUERADE.is_dir() else {}
        if limits.jobs:
            more["CMAKE_BUILD_PARALLEL_LEVEL"] = str(limits.jobs)
        run_logged(["/bin/sh", "-c", self.command], tree, more, limits)
        image = tree.path / self.image
        if not image.is_file():
            raise DoesNotBuildError(f"the build command made no {self.image}")
        return image

    @property
    def kept_folders(self) -> tuple[str, ...]:
        """Nothing stays from one commit to the next: of a foreign build nobody knows whether it sees what is out of date."""
        return ()


Recipe = RuntimeRecipe | CommandRecipe


def check_command(command: str, image: str) -> None:
    """Raises InputError for an image that is none of the work tree's."""
    if not command.strip():
        raise InputError("--build-command is empty")
    if not image or image.startswith("/") or ".." in PurePosixPath(image).parts:
        raise InputError(f"--image {image}: name the file that the build command makes, from the root of the work tree")


def run_logged(command: Sequence[str], tree: Worktree, more: Mapping[str, str], limits: Limits) -> None:
    """Run a build with its output in the tree's log. It ends when we are interrupted, with all that it started."""
    environment = {**git_environment(), **more, MARKER: str(tree.path)}
    # The names of colours and of the person's terminal are no part of a log.
    environment |= {"TERM": "dumb", "NO_COLOR": "1"}
    with tree.log.open("wb") as log:
        process = subprocess.Popen(
            command, cwd=tree.path, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
        try:
            code = _wait(process, command, limits)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            end_orphans(tree.path)  # what it left running would write into the next commit's files
    if code == 0:
        return
    output = _end_of(tree.log)
    transient = _TRANSIENT.search(output)
    if transient or code < 0:
        why = transient[0] if transient else f"signal {-code}"
        raise BuildError(f"{shlex.join(command)} was stopped ({why}), which says nothing of the commit; log: {tree.log}")
    raise DoesNotBuildError(_first_error(output, str(tree.path)) or f"ended with {code} without a message")


def _wait(process: subprocess.Popen[bytes], command: Sequence[str], limits: Limits) -> int:
    start = time.monotonic()
    while True:
        try:
            return process.wait(0.2)
        except subprocess.TimeoutExpired:
            if limits.stop is not None and limits.stop.is_set():
                raise StoppedError("stopped") from None
            if limits.timeout is not None and time.monotonic() - start > limits.timeout:
                raise BuildError(f"{shlex.join(command)} did not end within {limits.timeout:g} seconds: give --timeout more") from None


def _end_of(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(log.stat().st_size - _LOG_END, 0))
        return file.read().decode("utf-8", "replace")


def _first_error(output: str, folder: str) -> str:
    """The first line that says what is wrong, else the last one. Without the tree's path, which differs by job."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    found = next((line for line in lines if _ERROR.search(line)), lines[-1] if lines else "")
    return found.replace(f"{folder}/", "").replace(folder, ".").partition("; log: ")[0][:500]


def _selection_in(text: str, app: str) -> str | None:
    """apps: APP: selection: of a sizeguard.yaml; None if it says nothing that can be understood."""
    if len(text) > 1 << 20:
        return None
    try:
        content = yaml.load(text, Loader=_NoAliases)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    for name in ("apps", app):
        content = content.get(name) if isinstance(content, dict) else None
    path = content.get("selection") if isinstance(content, dict) else None
    is_inside = isinstance(path, str) and not path.startswith("/") and ".." not in PurePosixPath(path).parts
    return str(PurePosixPath(str(path))) if is_inside else None


class _NoAliases(yaml.SafeLoader):
    """Aliases of aliases make a small file a large object, and ours need none."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases")
        return super().compose_node(parent, index)


def recipe_text(recipe: Recipe) -> str:
    """What is built, as people read it."""
    if isinstance(recipe, CommandRecipe):
        return f"{recipe.image} by {recipe.command}"
    return f"{recipe.app or recipe.variant} for {recipe.toolchain.target} by {recipe.toolchain.name} -O{recipe.optimize}"
