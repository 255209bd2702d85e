"""Turns commits into the hash of what their builds read: commits of equal hashes are not built twice.

The hashes are git's own, of files and folders, so nothing is checked out. What is left out of a hash must be unable to change the
binary; what is in it without need costs a build.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import shlex
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sizeguard import __version__
from sizeguard.build.fingerprint import SUFFIXES, files_hash, fingerprint
from sizeguard.build.git import git, git_bytes
from sizeguard.errors import InputError

# Folders of native/ that no build of run_program reads: models are data that it is given.
_NOT_BUILT = ("native/models/", "native/examples/", "native/fuzzing/")
# What of this package says nothing of a size: how results are printed, judged and asked for.
_NOT_MEASURING = ("cli", "report", "gate", "bisect", "verify")
_VARIABLES = ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "SOURCE_DATE_EPOCH")


@dataclass(frozen=True, slots=True)
class Scope:
    """The files of a commit that count: below `paths` (all for none), but what meets a glob of `ignore`, such as *.md or docs/*."""

    paths: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def tree_hash(repository: Path, commit: str, scope: Scope) -> str:
    """Of the files of a commit that are in scope. Raises InputError for a path that leaves the repository."""
    for path in scope.paths:
        if path.startswith("/") or ".." in PurePosixPath(path).parts:
            raise InputError(f"--inputs {path}: name a file or folder of the repository, from its root")
    if not scope.paths and not scope.ignore:
        return git(repository, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{tree}}")
    return _files(repository, commit, scope.paths, lambda path: not any(fnmatch.fnmatchcase(path, glob) for glob in scope.ignore))


def check_scope(repository: Path, commit: str, scope: Scope) -> None:
    """Raises InputError if nothing of a commit is in scope: then all commits would look equal."""
    if tree_hash(repository, commit, scope) == fingerprint({"files": []}):
        raise InputError(f"--inputs and --ignore leave no file of {commit[:12]}: every commit would look the same")


def runtime_hash(repository: Path, commit: str, selection: str) -> str:
    """Of the sources of our runtime in a commit, and of the selection file; the generator's code is that of the package that runs."""
    native = _entries(repository, commit, "--full-tree", "--", "native").get("native", "")
    files = _native(repository, native.split()[2]) if " tree " in native else {}
    sources = [f"{entry}\t{path}" for path, entry in files.items() if _is_source(path)]
    chosen: object = files.get(selection)
    if selection and not selection.startswith("native/"):
        chosen = _entries(repository, commit, "--full-tree", "--", selection)
    return fingerprint({"files": sources, "selection": chosen})


@functools.lru_cache(256)
def _native(repository: Path, tree: str) -> Mapping[str, str]:
    """The files of native/, of a tree by its id: of 200 commits of this project eight changed what counts of it."""
    return {f"native/{path}": entry for path, entry in sorted(_entries(repository, tree, "-r").items())}


def _is_source(path: str) -> bool:
    if path.startswith(_NOT_BUILT) or PurePosixPath(path).suffix not in SUFFIXES:
        return False
    return not path.startswith("native/apps/") or path.count("/") == 2  # the folders of apps are theirs


def _files(repository: Path, commit: str, paths: Iterable[str], is_in: Callable[[str], bool]) -> str:
    entries = _entries(repository, commit, "-r", "--full-tree", "--", *dict.fromkeys(paths))
    return fingerprint({"files": [f"{entry}\t{path}" for path, entry in sorted(entries.items()) if is_in(path)]})


def _entries(repository: Path, tree: str, *arguments: str) -> dict[str, str]:
    """Path → mode, type and id, as git ls-tree says."""
    options = [word for word in arguments if word.startswith("-") and word != "--"]
    paths = arguments[arguments.index("--") :] if "--" in arguments else ()
    listing = os.fsdecode(git_bytes(repository, "ls-tree", "-z", *options, tree, *paths))
    rows = (line.partition("\t") for line in listing.split("\0") if line)
    return {path.encode("utf-8", "backslashreplace").decode(): entry for entry, _, path in rows}


def file_of(repository: Path, commit: str, path: str) -> str | None:
    """The text of a file in a commit; None if it has none."""
    entry = _entries(repository, commit, "--full-tree", "--", path).get(path, "")
    return _text(repository, entry.split()[2]) if " blob " in entry else None


@functools.lru_cache(256)
def _text(repository: Path, blob: str) -> str:
    return git_bytes(repository, "cat-file", "blob", blob).decode("utf-8", "replace")


@functools.cache
def package_hash() -> str:
    """Of the code of this package that builds and measures."""
    package = Path(__file__).resolve().parents[1]
    files = [path for suffix in ("py", "yaml", "txt") for path in package.rglob(f"*.{suffix}")]
    return f"{__version__} {files_hash(package, [path for path in files if path.relative_to(package).parts[0] not in _NOT_MEASURING])}"


@functools.cache
def host_toolchain() -> str:
    """The hash of what a build command finds: the compilers and the linker by their versions, and the variables that steer them."""
    return fingerprint({"tools": _tools(), "variables": {name: os.environ.get(name, "") for name in _VARIABLES}})


def _tools() -> Mapping[str, str]:
    tools = {"cc": os.environ.get("CC") or "cc", "cxx": os.environ.get("CXX") or "c++", "ld": os.environ.get("LD") or "ld"}
    return {name: _version(command) for name, command in tools.items()}


def _version(command: str) -> str:
    try:
        done = subprocess.run([*shlex.split(command), "--version"], capture_output=True, text=True, check=False)
    except (OSError, ValueError):
        return "none"
    return done.stdout.split("\n", 1)[0]
