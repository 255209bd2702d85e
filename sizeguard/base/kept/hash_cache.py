"""Cache file hashes; a file is read again only if its state on disk changed.

The state is device, inode, size, and the times of the last changes of content and inode. Programs
cannot set the last one, so an edit that restores the old modification time is noticed.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

from sizeguard.base.errors import InputError, SizeguardError
from sizeguard.base.files import check_no_output, write_atomic
from sizeguard.base.input_files import readable

State = tuple[int, int, int, int, int]

# A write in the same tick of the kernel's clock (4 ms at 250 Hz) does not change the times.
SETTLED = 50_000_000  # ns
_MANY = 10_000  # entries; a gate of 100 apps on 3 targets asks for about 5,000 files
_VERSION = 1


class HashCache:
    """Hashes by path. A cache that cannot be read counts as empty."""

    def __init__(self, file: Path, hash_of: Callable[[str], str]) -> None:
        """Read the cache in `file`; `hash_of` hashes files that the cache lacks."""
        self._file = file
        self._hash_of = hash_of
        self._known: dict[str, tuple[State, str]] = _read(file)
        self._is_new = False

    def __call__(self, path: str) -> str:
        """Return the hash of a file's content."""
        return self.of(path, state_of(path), self._hash_of)

    def of(self, path: str, state: State | None, hash_of: Callable[[str], str]) -> str:
        """Return the hash of a file in its present state; `hash_of` hashes unknown files."""
        if state is None:
            return hash_of(path)
        known = self._known.get(path)
        if known is not None and known[0] == state:
            return known[1]
        start = time.time_ns()
        content = hash_of(path)
        if unread_state(path) == state and start - max(state[3:]) > SETTLED:
            self._known[path] = (state, content)
            self._is_new = True
        return content

    def save(self) -> None:
        """Write the cache if it has new entries."""
        if not self._is_new:
            return
        known = self._known.items()
        if len(known) > _MANY:  # temporary files of earlier builds are never asked for again
            known = {path: row for path, row in known if os.path.lexists(path)}.items()
        rows = {path: [*state, content] for path, (state, content) in known}
        try:
            write_atomic(self._file, json.dumps({"version": _VERSION, "files": rows}))
        except SizeguardError:
            return  # the cache only saves time: without it, files are read again
        self._is_new = False


def state_of(path: str) -> State | None:
    """Return a file's state, which a cached hash belongs to; None if it is not a file.

    Raises OutputError for a file that the running command will replace.
    """
    found = _status(path)
    if found is None:
        return None
    check_no_output(found)
    return _state(found)


def unread_state(path: str) -> State | None:
    """Return a file's state as state_of does, even if the running command will replace the file."""
    found = _status(path)
    return None if found is None else _state(found)


def _status(path: str) -> os.stat_result | None:
    try:
        found = os.stat(path)  # noqa: PTH116  (a Path takes 10 µs, and builds read 1,000 files)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _state(found: os.stat_result) -> State:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read(file: Path) -> dict[str, tuple[State, str]]:
    try:
        content = json.loads(readable(file).read_bytes())
        if content["version"] != _VERSION:
            return {}
        return {
            str(path): ((row[0], row[1], row[2], row[3], row[4]), str(row[5]))
            for path, row in content["files"].items()
        }
    except (
        InputError,
        OSError,
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        AttributeError,
        RecursionError,
    ):
        return {}
