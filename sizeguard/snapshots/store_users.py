"""Running processes that use a store, so that cleaning takes nothing from them.

A process holds a lock on a file of its own in the store's folder `users` as long as it runs; the
system releases it however the process ends. What a process uses has its use noted as the time of
the entry's file. So all that was used since the oldest running user began may be in use.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_FOLDER = "users"
# The lock of this process by store: its file, which stays open, and its time in nanoseconds.
_LOCKS: dict[tuple[int, Path], tuple[IO[bytes], int]] = {}


@dataclass(frozen=True, slots=True)
class StoreUsers:
    """The running users of a store. since: when the oldest began, in ns; None without users."""

    count: int
    since: int | None


def note_use(folder: Path, entry: Path) -> None:
    """Note that this process uses an entry of a store; nothing in a folder that it cannot write."""
    began = _began(folder)
    if began is None:
        return
    with contextlib.suppress(OSError):
        if entry.stat().st_mtime_ns < began:
            os.utime(entry)


def _began(folder: Path) -> int | None:
    """Return since when this process uses a store; it begins with the first call."""
    key = os.getpid(), folder
    if key not in _LOCKS:
        try:
            (folder / _FOLDER).mkdir(parents=True, exist_ok=True)
            path = folder / _FOLDER / f"{key[0]}.lock"
            file = path.open("ab")
            fcntl.flock(file, fcntl.LOCK_SH)
            os.utime(path)
            _LOCKS[key] = file, path.stat().st_mtime_ns
        except OSError:
            return None
    return _LOCKS[key][1]


def running_users(folder: Path) -> StoreUsers:
    """Find the other processes that use a store, and forget those that ended."""
    times = []
    for path in sorted((folder / _FOLDER).glob("*.lock")):
        if path.stem == str(os.getpid()):
            continue
        try:
            with path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
        except BlockingIOError:
            times.append(path.stat().st_mtime_ns)
        except OSError:
            continue
    return StoreUsers(len(times), min(times, default=None))
