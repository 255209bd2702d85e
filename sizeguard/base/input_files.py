"""Refuse what no input can be read from: FIFOs, sockets and devices, which may never end."""

from __future__ import annotations

import stat
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import open_file


def readable(path: Path) -> Path:
    """Return the path of a regular file, or of a pipe that is open already, such as /dev/fd/63.

    The shell's <(command) is such a pipe: it has a writer, and ends. A path where nothing is, or
    that is a folder, is returned, too: reading it gives an error of its own. Every reader of a file
    that a user names opens readable(path).

    Raises InputError for a FIFO, a socket or a device. Opening a FIFO waits until somebody writes.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return path
    is_pipe = stat.S_ISFIFO(mode) and open_file(path) is not None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or is_pipe:
        return path
    raise InputError(f"{path}: cannot read: not a regular file")
