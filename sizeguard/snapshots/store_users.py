"""Track running processes that use a store, so that cleaning keeps their entries.

A process locks its own file in the store's folder `users` while it runs; the system releases the
lock when the process ends. The modification time of an entry's file is the time of its last use. So
everything used since the oldest running user began may be in use.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import IO

from sizeguard.base.dataclass import dataclass
from sizeguard.base.errors import InputError
from sizeguard.base.input_files import readable

_FOLDER = "users"
# This process's lock on each store: its file, which stays open, and its time in nanoseconds.
_LOCKS: dict[tuple[int, Path], tuple[IO[bytes], int]] = {}


@dataclass(frozen=True, slots=True)
class StoreUsers:
    """The running users of a store. since: when the oldest one began, in ns; None without users."""

    count: int
    since: int | None


def note_use(folder: Path, entry: Path) -> None:
    """Record that this process uses an entry of a store, if the folder is writable."""
    began = _began(folder)
    if began is None:
        return
    with contextlib.suppress(OSError):
        if entry.stat().st_mtime_ns < began:
            os.utime(entry)


def _began(folder: Path) -> int | None:
    """Return when this process began to use a store; the first call begins it."""
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
            with readable(path).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
        except BlockingIOError:
            times.append(path.stat().st_mtime_ns)
        except (InputError, OSError):
            continue
    return StoreUsers(len(times), min(times, default=None))
