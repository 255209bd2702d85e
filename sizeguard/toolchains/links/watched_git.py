"""Tell which files a build used without reading them, out of git's objects or the checkout.

Access times of a worktree's files do not show what `git show HEAD:file` prints. A library in the
build's processes lets harmless commands, such as `git describe`, open the worktree's `.git` without
setting its access time. Any other reader sets it, also where the library is missing. The library
notes files of the checkout, too: worktrees lie in it, and tools look for files in parent folders.
"""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from sizeguard.git.file_versions import WorktreeFiles
from sizeguard.git.git import common_folder, git, git_bytes, head_id
from sizeguard.git.trees import tree_entries
from sizeguard.git.worktrees import marks_of
from sizeguard.toolchains.links.preload import preload_library

_SOURCES = [Path(__file__).with_name(name) for name in ("watch_git.c", "watch_sizes.c")]
_MARKS, _OBJECTS, _PRELOAD = "SIZEGUARD_GIT_MARKS", "SIZEGUARD_GIT_OBJECTS", "LD_PRELOAD"
_CHECKOUT, _OWN_HEAD = "SIZEGUARD_GIT_CHECKOUT", "SIZEGUARD_GIT_HEAD"
_TREE = "SIZEGUARD_GIT_TREE"
HEAD = ".git/HEAD"  # stands for the commit that is checked out
# Tools look for these files in all parent folders, and take only the nearest.
_NEAREST = frozenset(
    {"Cargo.toml", "package.json", "pnpm-workspace.yaml", "pyproject.toml", "setup.cfg"}
    | {"tsconfig.json", ".clang-format", ".clang-tidy", ".editorconfig", ".gitignore", ".ignore"}
)
_LONGEST_STEP = 3.0  # seconds: FAT has steps of 2 s
_ASKED, _TAKEN, _OUTSIDE, _SIZED, _SINCE = "asked", "taken", "outside", "sized", "since"


def forget_marks(tree: Path) -> None:
    """Begin without marks."""
    folder = marks_of(tree)
    folder.mkdir(parents=True, exist_ok=True)
    for name in (_ASKED, _TAKEN, _OUTSIDE, _SIZED):
        (folder / name).unlink(missing_ok=True)


def begin_now(tree: Path) -> bool:
    """Store the time, by the clock of the file system; return False if that clock stands still.

    The clock moves in steps (4 ms on Linux with 250 Hz). What changes within the step of the stored
    time cannot be told from what changed before, so this waits for the next step.
    """
    since = marks_of(tree) / _SINCE
    since.parent.mkdir(parents=True, exist_ok=True)
    since.unlink(missing_ok=True)
    since.touch()
    begun = begun_at(tree)
    probe = since.with_suffix(".next")
    end = time.monotonic() + _LONGEST_STEP
    while time.monotonic() < end:
        probe.touch()
        if probe.stat().st_ctime_ns > begun:
            return True
        time.sleep(0.001)
    return False


def begun_at(tree: Path) -> int:
    """Return the stored time (ns)."""
    return (marks_of(tree) / _SINCE).stat().st_ctime_ns


def git_watch(repository: Path, tree: Path, given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make the processes of a build leave marks.

    repository: of the worktree; git is asked there, since that would count as the build's question
    """
    libraries = [preload_library(source=source) for source in _SOURCES]
    if None in libraries:
        return {}
    before = given.get(_PRELOAD, "")
    return {
        _MARKS: str(marks_of(tree)),
        _OBJECTS: "\n".join(map(os.path.realpath, _object_folders(repository))),
        _CHECKOUT: os.path.realpath(repository),
        _OWN_HEAD: _head_of(repository),
        _TREE: os.path.realpath(tree),
        _PRELOAD: ":".join(map(str, [*libraries, *([before] if before else [])])),
    }


def has_asked(tree: Path) -> bool:
    """Return whether a harmless command asked git."""
    return (marks_of(tree) / _ASKED).exists()


def has_taken(tree: Path) -> bool:
    """Return whether a program that may let files out opened git's objects."""
    return (marks_of(tree) / _TAKEN).exists()


def sized_files(tree: Path) -> frozenset[str]:
    """List the files of the worktree whose size, type or times a program asked for."""
    root = os.path.realpath(tree) + "/"
    return frozenset(path.removeprefix(root) for path in _noted(tree, _SIZED))


def _noted(tree: Path, mark: str) -> frozenset[str]:
    """Return the paths that a mark lists."""
    try:
        noted = (marks_of(tree) / mark).read_bytes().split(b"\0")
    except FileNotFoundError:
        return frozenset()
    return frozenset(os.fsdecode(path) for path in noted if path)


def outside_files(repository: Path, tree: Path, read: Collection[str]) -> frozenset[str]:
    """List the tracked files that the build took from the checkout, not from its worktree.

    It took the content of a file, or only its size. If it asked git for the commit that is checked
    out, .git/HEAD is among them.

    read: the files that it read in the worktree. Of the files that tools look for in parent
          folders, those with the same path are left out: tools take the nearest. The files of the
          running sizeguard are left out, too.
    """
    paths = _noted(tree, _OUTSIDE)
    if not paths:
        return frozenset()
    root = os.path.realpath(repository) + "/"
    # The running sizeguard is a tool, also where it is installed from the checkout.
    own = os.path.realpath(Path(__file__).parents[2]) + "/"
    names = {path.removeprefix(root) for path in paths if not path.startswith(own)}
    tracked = git_bytes(repository, "ls-files", "-z").split(b"\0")
    alone = {name for name in names if name not in read or not _is_nearest_alone(name)}
    head = {HEAD} if _head_of(repository) in paths else set()
    return frozenset(alone & set(map(os.fsdecode, tracked)) | head)


def _is_nearest_alone(name: str) -> bool:
    return name.rpartition("/")[2] in _NEAREST


def differing(repository: Path, commit: str, files: Collection[str]) -> list[str]:
    """List the files whose content in the checkout is not that of a commit."""
    if not files:
        return []
    entries = tree_entries(repository, commit, "-r", "--full-tree")
    here = WorktreeFiles(repository).identities(set(files) - {HEAD})
    other = {name for name, id_ in here.items() if id_ != entries.get(name, "- - -").split()[2]}
    other |= set(files) - {*here, HEAD}
    if HEAD in files and not _is_checked_out(repository, commit):
        other.add(HEAD)
    return sorted(other)


def _is_checked_out(repository: Path, commit: str) -> bool:
    """Return whether HEAD is a commit, or the parent of one made from the checked-out files."""
    ids = git(repository, "rev-list", "--parents", "--max-count=1", commit).split()
    return (head_id(repository) or ids[0]) in ids[:2]


def _head_of(repository: Path) -> str:
    """Return the path of a checkout's HEAD; empty for a repository without a worktree."""
    place = repository / ".git"
    if place.is_file():
        place = repository / place.read_text("utf-8", "surrogateescape").strip()[len("gitdir: ") :]
    return os.path.realpath(place / "HEAD") if place.is_dir() else ""


@functools.lru_cache(8)
def _object_folders(repository: Path) -> tuple[str, ...]:
    """List the repository's folder of objects, and those that it borrows from."""
    own = common_folder(repository) / "objects"
    found = [str(own)]
    with contextlib.suppress(OSError):
        for line in (own / "info" / "alternates").read_text("utf-8", "surrogateescape").split("\n"):
            if line and not line.startswith("#"):
                found.append(str(own / line))
    return tuple(found)
