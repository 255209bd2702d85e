"""Turns a commit into its files, in a work tree of our own at a fixed path.

The length of a path changes what a compiler writes, so all builds of a run lie in FOLDER/tree-00, builds beside it in FOLDER/tree-01, ….
A work tree has one user at a time: it holds a lock for as long as it works there, which the system takes back if it dies. Who was
killed leaves a mark, and then the tree is made anew: no half-written file of it is ever built. The user's own work tree, index and HEAD
are never an argument of a command here.
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

from sizeguard.build.git import git
from sizeguard.errors import InputError

# What is started for a work tree has its path in this variable: so those are found that outlive us.
MARKER = "SIZEGUARD_WORKTREE"
_SLOTS = 100


@dataclass(frozen=True, slots=True)
class Worktree:
    """One that is ours alone for now. Its path exists after check_out."""

    repository: Path
    path: Path

    @property
    def log(self) -> Path:
        """Where the output of what is built here goes: beside the tree, not in it."""
        return self.path.with_suffix(".log")

    @property
    def _busy(self) -> Path:
        return self.path.with_suffix(".busy")

    @contextmanager
    def check_out(self, commit: str, keep: tuple[str, ...] = ()) -> Iterator[Path]:
        """The commit's files and nothing else, but folders to keep, for as long as the context lasts.

        keep: folders in the tree, such as build, whose content was made by a tool that sees itself what is out of date.
        """
        if self._busy.exists():
            self.remove()
        self._busy.write_text(commit)
        self._make(commit)
        git(self.path, "clean", "-ffdxq", *(word for folder in keep for word in ("-e", f"/{folder}/")))
        yield self.path
        # Not in a finally: who is interrupted leaves a tree that nobody can vouch for.
        self._busy.unlink()

    def remove(self) -> None:
        """Leave nothing of it, in the repository neither."""
        if self.path.exists():
            shutil.rmtree(self.path)
        holder = _holder(self.repository, self.path)
        if holder is not None:
            shutil.rmtree(holder)
        for file in (self._busy, self.log):
            file.unlink(missing_ok=True)

    def _make(self, commit: str) -> None:
        holder = _holder(self.repository, self.path)
        if holder is None or not (self.path / ".git").is_file():
            busy = self._busy.read_text()
            self.remove()
            self._busy.write_text(busy)
            git(self.repository, "worktree", "add", "--force", "--detach", "--no-checkout", str(self.path), commit)
        git(self.path, "checkout", "--force", "--quiet", "--detach", commit)


def _holder(repository: Path, path: Path) -> Path | None:
    """Where the repository keeps what belongs to the work tree: a folder of .git/worktrees."""
    from sizeguard.build.git import common_folder

    for file in (common_folder(repository) / "worktrees").glob("*/gitdir"):
        try:
            if Path(file.read_text().strip()) == path / ".git":
                return file.parent
        except OSError:
            continue  # another process has just removed it
    return None


@contextmanager
def worktree(repository: Path, folder: Path) -> Iterator[Worktree]:
    """The first work tree of a folder that nobody uses, theirs who take it until the context ends."""
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
                    # Not by closing alone: a process that another thread is just starting holds a copy of the file until it runs.
                    fcntl.flock(lock, fcntl.LOCK_UN)
                return
        time.sleep(0.5)


def remove_worktrees(repository: Path, folder: Path) -> None:
    """All of a folder that nobody uses."""
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
    """End what a killed predecessor started in a work tree, which we hold: its compilers write into it still. Linux."""
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
    raise InputError(f"{path}: processes that were started here do not end: {', '.join(map(str, found))}")


def _processes() -> list[int]:
    folder = Path("/proc")
    return [int(each.name) for each in folder.iterdir() if each.name.isdigit()] if folder.is_dir() else []


def _environment(pid: int) -> bytes:
    if pid == os.getpid():
        return b""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""  # it has ended, or is another user's
