"""Separate worktrees, in which commits are checked out one after the other at a fixed path.

The length of a path changes a compiler's output. So all builds of a run are in FOLDER/tree-00, and
parallel ones in FOLDER/tree-01, …. One process uses a worktree at a time and holds a lock; the
system releases the lock if the process dies. A killed process leaves a mark, and the next one makes
the tree again, so a half-written file is never built. No command here touches the user's own
worktree, index or HEAD.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_write
from sizeguard.git.git import common_folder, git, git_path
from sizeguard.git.own_filters import own_filters
from sizeguard.git.read_only import make_writable, remove_folder
from sizeguard.git.submodules import fill_submodules
from sizeguard.git.trees import attributes_of

# Processes started for a worktree have its path in this variable, so that orphans can be found.
MARKER = "SIZEGUARD_WORKTREE"
_SLOTS = 100  # worktrees of one repository at a time
_KILL_WAIT = 60.0  # seconds; a busy machine takes some to end a killed process
EVERYTHING = ("**",)  # value of `keep` for all files in the tree


def marks_of(tree: Path) -> Path:
    """Return the folder with what was noted of the reads of a build in a tree."""
    return tree.with_suffix(".reads")


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree that this process has locked. Its path exists after check_out."""

    repository: Path
    path: Path

    @property
    def log(self) -> Path:
        """The log file of builds, beside the tree."""
        return self.path.with_suffix(".log")

    @property
    def made(self) -> Path:
        """The folder for the outputs of a build, beside the tree."""
        return self.path.with_suffix(".made")

    @property
    def setup(self) -> Path:
        """The file that records the setup of the build in a kept tree."""
        return self.path.with_suffix(".setup")

    @property
    def marks(self) -> Path:
        """The folder with what was noted of the reads of a build, beside the tree."""
        return marks_of(self.path)

    @property
    def _busy(self) -> Path:
        """The mark of a process that uses the tree, beside the tree."""
        return self.path.with_suffix(".busy")

    @contextmanager
    def check_out(self, commit: str, keep: tuple[str, ...] = ()) -> Iterator[Path]:
        """Check out a commit for the time of the context; only folders in `keep` have other files.

        keep: folders in the tree, such as build, of tools that detect outdated outputs themselves;
        EVERYTHING for all files. Submodules are filled in from the repository's own.

        Raises InputError if the tree belongs to another user.
        """
        try:
            self._prepare(commit, keep)
        except OSError as error:
            raise cannot_write(Path(error.filename or self.path), error) from error
        yield self.path
        # Not in a finally: after an interruption, the state of the tree is unknown.
        self._busy.unlink()

    def _prepare(self, commit: str, keep: tuple[str, ...]) -> None:
        if self._busy.exists():
            self.remove()
        self._busy.write_text(commit)
        self._make(commit)
        if keep != EVERYTHING:
            self.setup.unlink(missing_ok=True)
            self.clean(keep)
        fill_submodules(self.repository, self.path, commit)

    def clean(self, keep: tuple[str, ...] = ()) -> None:
        """Remove all files that are not in the commit; `keep` as in check_out."""
        kept = [word for folder in keep for word in ("-e", f"/{folder}/")]
        try:
            git(self.path, "clean", "-ffdxq", *kept)
        except InputError:
            make_writable(self.path)
            git(self.path, "clean", "-ffdxq", *kept)

    def remove(self) -> None:
        """Remove the tree, also from the repository's list."""
        for folder in (self.path, self.made, self.marks):
            if folder.exists():
                remove_folder(folder)
        holder = _holder(self.repository, self.path)
        if holder is not None:
            shutil.rmtree(holder)
        for file in (self._busy, self.log, self.setup):
            file.unlink(missing_ok=True)

    def _make(self, commit: str) -> None:
        """Check out a commit, in a new worktree if there is none."""
        known = f"{commit}^0"  # git would prefer a branch whose name is the id
        holder = _holder(self.repository, self.path)
        is_made = holder is not None and (self.path / ".git").is_file()
        is_stale = self._has_other_attributes(commit) or self._looks_away() if is_made else True
        if is_stale or own_filters(self.repository, commit):
            busy = self._busy.read_text()
            self.remove()
            self._busy.write_text(busy)
            git(
                self.repository,
                "worktree",
                "add",
                "--force",
                "--detach",
                "--no-checkout",
                str(self.path),
                known,
            )
        self._forget_times()
        # A worktree inherits the patterns of a sparse checkout, and a build would lack files.
        whole = ("-c", "core.sparseCheckout=false")
        git(self.path, *whole, "checkout", "--force", "--quiet", "--detach", known)

    def _forget_times(self) -> None:
        """Let git compare all files with the next commit by content.

        It trusts files whose size, and times in seconds, are those of the checkout. But a build may
        write a file in the same second, or set its time. Files are compared if the index is older.
        """
        index = self.path / git_path(self.path, "rev-parse", "--git-path", "index")
        index.with_name("index.lock").unlink(missing_ok=True)  # of a build's git that was ended
        if index.is_file():
            os.utime(index, (1, 1))

    def _has_other_attributes(self, commit: str) -> bool:
        """Return whether git would check out equal files with other content, such as line ends.

        It writes no file anew whose blob is unchanged.
        """
        try:
            before = git(self.path, "rev-parse", "--verify", "HEAD")
        except InputError:
            return True  # no commit was checked out
        return attributes_of(self.repository, before) != attributes_of(self.repository, commit)

    def _looks_away(self) -> bool:
        """Return whether a build marked files that git then does not check out again.

        The marks are skip-worktree and assume-unchanged.
        """
        rows = git(self.path, "ls-files", "-v", "-z").split("\0")
        return not all(row.startswith("H ") for row in rows if row)


def _holder(repository: Path, path: Path) -> Path | None:
    """Return the folder of .git/worktrees for a worktree; None if it does not exist."""
    for file in (common_folder(repository) / "worktrees").glob("*/gitdir"):
        try:
            if Path(os.fsdecode(file.read_bytes().rstrip(b"\n"))) == path / ".git":
                return file.parent
        except OSError:
            continue  # another process has just removed it
    return None


@contextmanager
def worktree(repository: Path, folder: Path) -> Iterator[Worktree]:
    """Lock the first unused worktree of a folder, until the context ends."""
    folder = folder.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot make worktrees here: {error.strerror}") from error
    with _lock(folder) as path:
        end_orphans(path)
        yield Worktree(repository, path)


@contextmanager
def _lock(folder: Path) -> Iterator[Path]:
    """Lock the first free path, waiting until there is one."""
    while True:
        for number in range(_SLOTS):
            path = folder / f"tree-{number:02}"
            with _opened(path.with_suffix(".lock")) as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                try:
                    yield path
                finally:
                    # Closing is not enough: a process that another thread is starting has a copy of
                    # the file until it runs.
                    fcntl.flock(lock, fcntl.LOCK_UN)
                return
        time.sleep(0.5)


def _opened(path: Path) -> IO[str]:
    try:
        return path.open("w")
    except OSError as error:
        raise cannot_write(path, error) from error


def path_length(folder: Path) -> int:
    """Return the length in bytes of the path of each worktree of a folder; all are equal."""
    return len(os.fsencode(folder.resolve() / "tree-00"))


def remove_worktrees(repository: Path, folder: Path) -> None:
    """Remove all unused worktrees of a folder."""
    for lock_file in sorted(folder.glob("tree-*.lock")):
        with _opened(lock_file) as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            path = lock_file.with_suffix("")
            end_orphans(path)
            Worktree(repository, path).remove()


def end_orphans(path: Path, before: Collection[int] = ()) -> None:
    """End processes that a killed predecessor started in a locked worktree.

    Its compilers still write into the tree. Works on Linux.

    before: processes that ran before a build; any other process without a terminal that works in
            the tree belongs to the build, whatever its environment
    """
    mark = os.fsencode(f"{MARKER}={path}")
    until = time.monotonic() + _KILL_WAIT
    while True:
        found = [
            pid
            for pid in processes()
            if mark in _environment(pid).split(b"\0")
            or (pid not in before and before and _works_in(pid, path))
        ]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # it has already ended
        if time.monotonic() > until:
            raise InputError(
                f"{path}: processes that were started here do not end: {', '.join(map(str, found))}"
            )
        time.sleep(0.02)


def processes() -> list[int]:
    """Return the ids of all processes; none without /proc."""
    folder = Path("/proc")
    return (
        [int(each.name) for each in folder.iterdir() if each.name.isdigit()]
        if folder.is_dir()
        else []
    )


def _works_in(pid: int, path: Path) -> bool:
    """Return whether a process without a terminal has its current folder in a worktree."""
    try:
        folder = Path(f"/proc/{pid}/cwd").readlink()
        # After the name in brackets: state, parent, group, session, terminal
        terminal = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[4]
    except (OSError, UnicodeDecodeError):
        return False  # it has ended, or belongs to another user
    return terminal == "0" and pid != os.getpid() and folder.is_relative_to(path)


def _environment(pid: int) -> bytes:
    """Return the environment of another process; empty if unreadable."""
    if pid == os.getpid():
        return b""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""  # it has ended, or belongs to another user
