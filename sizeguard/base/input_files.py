"""Find the file to read for a path, and refuse FIFOs, sockets and devices, which may be endless."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sizeguard.base.errors import InputError
from sizeguard.base.files import cannot_read, check_no_output, open_file

_STAND_INS: dict[Path, Path] = {}


def stand_in(path: Path, file: Path) -> None:
    """Read `file` in place of `path`, which names an unpacked member of a container."""
    _STAND_INS[path] = file


def forget(path: Path) -> None:
    """Stop reading another file in place of a path."""
    _STAND_INS.pop(path, None)


def has_stand_in(path: Path) -> bool:
    """Return whether another file is read in place of a path."""
    return path in _STAND_INS


def readable(path: Path) -> Path:
    """Return the path of a regular file, or of an open pipe such as /dev/fd/63.

    The shell's <(command) is such a pipe; it has a writer and ends. Missing paths and folders are
    returned, too; reading them raises the usual errors. All readers of files that a user names open
    readable(path).

    Raises InputError for a FIFO, a socket or a device. Opening a FIFO would block until somebody
    writes. Raises OutputError for a file that the command will replace by its result.
    """
    path = _STAND_INS.get(path, path)
    about = _status(path)
    if about is not None:
        check_no_output(about)
    return path


def read_input(path: Path, most: int = -1) -> bytes:
    """Read a file that a user names: all of it, or its first `most` bytes.

    Raises InputError if it cannot be read, with the nearest name if it does not exist.
    """
    try:
        with readable(path).open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise cannot_read(path, error) from error


def recognizable(path: Path) -> Path:
    """Return the path of a file whose first bytes tell whether it is an input.

    Unlike readable(path), it accepts a file that the command will replace by its result.
    """
    path = _STAND_INS.get(path, path)
    _status(path)
    return path


def lacks_zip_list(error: Exception) -> bool:
    """Return whether zipfile did not find the list of members, which is at the end of a file."""
    return str(error) == "File is not a zip file"


def _status(path: Path) -> os.stat_result | None:
    """Return the status of a file; None for a missing one. Raises InputError as readable does."""
    try:
        about = path.stat()
    except (OSError, ValueError):
        return None
    mode = about.st_mode
    is_pipe = stat.S_ISFIFO(mode) and open_file(path) is not None
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or is_pipe:
        return about
    raise InputError(f"{path}: cannot read: not a regular file")
