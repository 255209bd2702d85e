"""Hashes of files that are read again only if their state on disk changed.

The state is device, inode, size, and the times of the last change of content and of inode. Nobody
can set the last one, so an edit that restores the old modification time is seen.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import write_atomic

State = tuple[int, int, int, int, int]

# A write in the same tick of the kernel's clock leaves the times as they are: 4 ms at 250 Hz.
_SETTLED = 50_000_000  # ns
_VERSION = 1


class HashCache:
    """Hashes by path. A cache that cannot be read is empty; one that cannot be written is not."""

    def __init__(self, file: Path, hash_of: Callable[[str], str]) -> None:
        """Read the cache in `file`; `hash_of` reads a file that the cache does not know."""
        self._file = file
        self._hash_of = hash_of
        self._known: dict[str, tuple[State, str]] = _read(file)
        self._is_new = False

    def __call__(self, path: str) -> str:
        """Return the hash of a file's content."""
        state = state_of(path)
        if state is None:
            return self._hash_of(path)
        known = self._known.get(path)
        if known is not None and known[0] == state:
            return known[1]
        start = time.time_ns()
        content = self._hash_of(path)
        if state_of(path) == state and start - max(state[3:]) > _SETTLED:
            self._known[path] = (state, content)
            self._is_new = True
        return content

    def save(self) -> None:
        """Write the cache if it holds something new."""
        if not self._is_new:
            return
        rows = {path: [*state, content] for path, (state, content) in self._known.items()}
        try:
            write_atomic(self._file, json.dumps({"version": _VERSION, "files": rows}))
        except InputError:
            return  # a cache saves time alone: without it files are read again
        self._is_new = False


def state_of(path: str) -> State | None:
    """Return the state of a file that a cached hash stands for; None for a folder or no file."""
    try:
        found = os.stat(path)  # noqa: PTH116  (a Path takes 10 µs, and builds read 1,000 files)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read(file: Path) -> dict[str, tuple[State, str]]:
    try:
        content = json.loads(file.read_bytes())
        if content["version"] != _VERSION:
            return {}
        return {
            str(path): ((row[0], row[1], row[2], row[3], row[4]), str(row[5]))
            for path, row in content["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return {}
