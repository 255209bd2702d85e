"""Find the file to read for a path, and refuse FIFOs, sockets and devices, which may never end."""

from __future__ import annotations

import stat
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import open_file

_STAND_INS: dict[Path, Path] = {}


def stand_in(path: Path, file: Path) -> None:
    """Read `file` where `path` is named, a member of a container that was unpacked."""
    _STAND_INS[path] = file


def forget(path: Path) -> None:
    """Read the path itself again, if another file was read for it."""
    _STAND_INS.pop(path, None)


def has_stand_in(path: Path) -> bool:
    """Return whether another file is read for a path."""
    return path in _STAND_INS


def readable(path: Path) -> Path:
    """Return the path of a regular file, or of a pipe that is open already, such as /dev/fd/63.

    The shell's <(command) is such a pipe: it has a writer, and ends. A path where nothing is, or
    that is a folder, is returned, too: reading it gives an error of its own. Every reader of a file
    that a user names opens readable(path).

    Raises InputError for a FIFO, a socket or a device. Opening a FIFO waits until somebody writes.
    """
    path = _STAND_INS.get(path, path)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return path
    is_pipe = stat.S_ISFIFO(mode) and open_file(path) is not None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or is_pipe:
        return path
    raise InputError(f"{path}: cannot read: not a regular file")
