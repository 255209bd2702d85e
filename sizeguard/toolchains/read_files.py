"""Find the tracked files of a worktree that a build reads, by their access times.

The access time of each file is set before its last change. Linux then records the first read by
any process (with `relatime`, the usual mount option, and with `strictatime`). A file whose times
were set counts as read. If nothing is recorded, the reads are unknown. A build that asked git
itself may depend on more of the commit than the files that it opened: on names and ids, or on any
content. A file whose size a program asked for counts as read, too (see watched_git).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import tempfile
from pathlib import Path

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.git.git import git_bytes, git_path
from sizeguard.toolchains.links.watched_git import (
    begin_now,
    begun_at,
    forget_marks,
    has_asked,
    has_taken,
    sized_files,
)

_SECONDS = 2_000_000_000  # ns: git compares seconds
# Setting the access time changes the time of the last change of a file's data, which git would see.
WATCHED_ENVIRONMENT = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.trustctime",
    "GIT_CONFIG_VALUE_0": "false",
}
_BEFORE = 1_000_000_000  # ns: 1970, before any change of a file
_CLONE = 0x40049409  # FICLONE: copies a file without reading it
_GIT_FILE = ".git"
_PROBE = "probe"


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """Files read since the access times were reset, by path from the worktree's root.

    asks_git: git was asked, too, for files, names or the commit
    takes_files: any content of the repository may have been taken out of git's objects
    """

    files: frozenset[str] = frozenset()
    asks_git: bool = False
    takes_files: bool = False

    def __or__(self, other: ReadFiles) -> ReadFiles:
        """Combine two."""
        return ReadFiles(
            self.files | other.files,
            self.asks_git or other.asks_git,
            self.takes_files or other.takes_files,
        )


def watch(tree: Path) -> bool:
    """Begin to watch a worktree; return False if this file system does not record reads."""
    if not records_reads(tree):
        return False
    _settle_index(tree)
    for name in _tracked(tree):
        _reset(tree / name)
    watch_git(tree)
    return begin_now(tree)


def watch_git(tree: Path) -> None:
    """Begin to watch whether git is asked, as after an own command."""
    forget_marks(tree)
    _reset(tree / _GIT_FILE)


def _reset(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if not path.is_symlink():
            os.utime(path, ns=(_BEFORE, path.stat().st_mtime_ns))


def _settle_index(tree: Path) -> None:
    """Make the index newer than all files, so that git compares their times, not their contents.

    A build that asks for changes (git describe --dirty) would otherwise read all files.
    """
    index = tree / git_path(tree, "rev-parse", "--git-path", "index")
    with contextlib.suppress(FileNotFoundError):
        later = index.stat().st_mtime_ns + _SECONDS
        os.utime(index, ns=(later, later))


def read_since(tree: Path) -> ReadFiles:
    """Return the files read since `watch`; those that the build replaced or removed count, too."""
    is_read = _is_read(tree / _GIT_FILE)
    asks, takes = is_read or has_asked(tree), is_read or has_taken(tree)
    since = begun_at(tree)
    sized = sized_files(tree)
    read = (name for name in _tracked(tree) if name in sized or _is_read(tree / name, since))
    return ReadFiles(frozenset(read), asks or takes, takes)


def _is_read(path: Path, since: int | None = None) -> bool:
    """Return whether a file was read, or its status changed after a time in nanoseconds."""
    try:
        if path.is_symlink():
            return True
        about = path.stat()
    except OSError:
        return True
    return about.st_atime_ns != _BEFORE or (since is not None and about.st_ctime_ns > since)


def _tracked(tree: Path) -> list[str]:
    listed = git_bytes(tree, "ls-tree", "-r", "-z", "--full-tree", "--name-only", "HEAD")
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]


def records_reads(folder: Path) -> bool:
    """Test whether a folder's file system records reads, and never copies files without a read."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="read-") as place:
            probe = Path(place) / _PROBE
            probe.write_text(_PROBE)
            os.utime(probe, ns=(_BEFORE, probe.stat().st_mtime_ns))
            if _is_read(probe) or _is_cloned(probe):
                return False
            probe.read_bytes()
            return _is_read(probe)
    except (OSError, InputError):
        return False


def _is_cloned(probe: Path) -> bool:
    with probe.open("rb") as source, probe.with_suffix(".copy").open("wb") as copy:
        try:
            fcntl.ioctl(copy.fileno(), _CLONE, source.fileno())
        except OSError:
            return False
    return True
