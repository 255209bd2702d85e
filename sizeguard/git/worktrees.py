"""Worktrees of our own, in which one commit after the other is checked out at a fixed path.

The length of a path changes what a compiler writes. So the builds of a run are all in
FOLDER/tree-00, parallel ones in FOLDER/tree-01, …. A worktree has one user at a time, who holds a
lock while working there; the system releases it if the user dies. A killed user leaves a mark, and
then the tree is made anew, so a half-written file is never built. No command here has the user's
own worktree, index or HEAD as an argument.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.git.git import common_folder, git

# Processes started for a worktree have its path in this variable, so that those that outlive us are
# found.
MARKER = "SIZEGUARD_WORKTREE"
_SLOTS = 100


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree that is locked for us. Its path exists after check_out."""

    repository: Path
    path: Path

    @property
    def log(self) -> Path:
        """The file for the output of builds: beside the tree, not in it."""
        return self.path.with_suffix(".log")

    @property
    def _busy(self) -> Path:
        """The mark of a user, beside the tree."""
        return self.path.with_suffix(".busy")

    @contextmanager
    def check_out(self, commit: str, keep: tuple[str, ...] = ()) -> Iterator[Path]:
        """Hold the commit's files and nothing else but folders to keep, while the context lasts.

        keep: folders in the tree, such as build, written by a tool that itself sees what is out of
        date.
        """
        if self._busy.exists():
            self.remove()
        self._busy.write_text(commit)
        self._make(commit)
        git(
            self.path,
            "clean",
            "-ffdxq",
            *(word for folder in keep for word in ("-e", f"/{folder}/")),
        )
        yield self.path
        # Not in a finally: after an interruption nobody knows what is in the tree.
        self._busy.unlink()

    def remove(self) -> None:
        """Remove the tree, also from the repository's list."""
        if self.path.exists():
            shutil.rmtree(self.path)
        holder = _holder(self.repository, self.path)
        if holder is not None:
            shutil.rmtree(holder)
        for file in (self._busy, self.log):
            file.unlink(missing_ok=True)

    def _make(self, commit: str) -> None:
        """Check out a commit, in a new worktree if there is none."""
        holder = _holder(self.repository, self.path)
        if holder is None or not (self.path / ".git").is_file():
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
                commit,
            )
        git(self.path, "checkout", "--force", "--quiet", "--detach", commit)


def _holder(repository: Path, path: Path) -> Path | None:
    """Return the folder of .git/worktrees that belongs to a worktree, None if there is none."""
    for file in (common_folder(repository) / "worktrees").glob("*/gitdir"):
        try:
            if Path(file.read_text().strip()) == path / ".git":
                return file.parent
        except OSError:
            continue  # another process has just removed it
    return None


@contextmanager
def worktree(repository: Path, folder: Path) -> Iterator[Worktree]:
    """Lock the first worktree of a folder that nobody uses, until the context ends."""
    folder = folder.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot make work trees here: {error.strerror}") from error
    with _lock(folder) as path:
        end_orphans(path)
        yield Worktree(repository, path)


@contextmanager
def _lock(folder: Path) -> Iterator[Path]:
    """Lock the first free path, waiting until there is one."""
    while True:
        for number in range(_SLOTS):
            path = folder / f"tree-{number:02}"
            with path.with_suffix(".lock").open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                try:
                    yield path
                finally:
                    # Closing is not enough: a process that another thread is just starting holds a
                    # copy of the file until it runs.
                    fcntl.flock(lock, fcntl.LOCK_UN)
                return
        time.sleep(0.5)


def remove_worktrees(repository: Path, folder: Path) -> None:
    """Remove all worktrees of a folder that nobody uses."""
    for lock_file in sorted(folder.glob("tree-*.lock")):
        with lock_file.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            path = lock_file.with_suffix("")
            end_orphans(path)
            Worktree(repository, path).remove()


def end_orphans(path: Path) -> None:
    """End processes that a killed predecessor started in a worktree that we hold.

    Its compilers still write into the tree. Works on Linux.
    """
    mark = f"{MARKER}={path}".encode()
    for _ in range(200):
        found = [pid for pid in _processes() if mark in _environment(pid).split(b"\0")]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # it has ended by itself
        time.sleep(0.02)
    raise InputError(
        f"{path}: processes that were started here do not end: {', '.join(map(str, found))}"
    )


def _processes() -> list[int]:
    """Return the ids of all processes; none without /proc."""
    folder = Path("/proc")
    return (
        [int(each.name) for each in folder.iterdir() if each.name.isdigit()]
        if folder.is_dir()
        else []
    )


def _environment(pid: int) -> bytes:
    """Return the environment of another process, empty if it cannot be read."""
    if pid == os.getpid():
        return b""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""  # it has ended, or is another user's
