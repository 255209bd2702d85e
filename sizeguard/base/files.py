"""Write files whole or not at all, and only when their content changed.

Only a regular file is replaced. Devices, FIFOs and open files of this process (/dev/stdout) are
written to directly. If the path is a symbolic link, its target is replaced.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from sizeguard.base.errors import InputError, OutputError, SizeguardError, StorageError

READER_WAIT = 10.0  # seconds to wait for a FIFO's reader; a shell starts both ends at the same time
_LINKS = 40  # as many links as Linux follows
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # the disk is full or fails
# Existing files that the running command will replace, by device and inode: their options.
_OUTPUTS: dict[tuple[int, int], str] = {}
# Errors of the running command, which read such a file. Nothing is written after the first.
_MIXED: list[OutputError] = []


def cannot_write(path: Path, error: OSError, hint: str = "") -> SizeguardError:
    """Make the error of a failed write: a StorageError if the disk is full or fails."""
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path}: cannot write: it is a folder; name a file in it{hint}")
    if isinstance(error, FileExistsError | NotADirectoryError):
        above = next((each for each in (path, *path.parents) if is_there(each)), path)
        what = "it" if above == path else str(above)
        return InputError(f"{path}: cannot write: {what} is a file, not a folder{hint}")
    kind = StorageError if error.errno in NO_ROOM else InputError
    return kind(f"{path}: cannot write: {error.strerror}{hint}")


@contextlib.contextmanager
def locked(path: Path, hint: str = "") -> Iterator[None]:
    """Hold the lock of a file, which is created; a second process waits.

    Raises InputError, which ends with `hint`, or StorageError if the file cannot be made.
    """
    try:
        lock = path.open("w")
    except OSError as error:
        raise cannot_write(path, error, hint) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def cannot_read(path: Path | str, error: OSError | ValueError) -> InputError:
    """Make the error of a failed read, with the nearest name if the file does not exist."""
    hint = ""
    if isinstance(error, FileNotFoundError):
        # Imported here, since difflib takes 3 ms.
        from sizeguard.base.nearest import nearest_file

        hint = nearest_file(Path(path))
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path}: is a folder, not a file")
    why = error.strerror if isinstance(error, OSError) else str(error)
    name = str(path)
    if name.startswith(("http:/", "https:/")) and "://" not in name:
        name = name.replace(":/", "://", 1)  # a path has one slash where an address has two
    return InputError(f"{name}: cannot read: {why or error}{hint}")


def text_of_file(path: Path) -> str:
    """Read a text file; empty if it is missing, as in a sparse checkout, or no regular file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    except OSError:
        return ""


def is_there(path: Path) -> bool:
    """Return whether a file exists. Path.exists raises for long names and closed folders."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def is_folder(path: Path) -> bool:
    """Return whether a folder exists; like is_there it never raises."""
    return is_there(path) and path.is_dir()


def path_below(path: Path, folder: Path) -> str:
    """Return a path relative to a folder, with slashes; empty if it is not below the folder."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else ""


@contextlib.contextmanager
def apart(outputs: Iterable[tuple[str, Path]]) -> Iterator[None]:
    """Keep the outputs of a command apart from all files that it reads, by whatever name.

    outputs: the option and the path of each file that it will write
    """
    outer = dict(_OUTPUTS), list(_MIXED)  # of a command that runs this one
    for option, path in outputs:
        if is_there(path) and path.is_file():
            about = path.stat()
            _OUTPUTS[about.st_dev, about.st_ino] = f"{option}: {path}"
    try:
        yield
    finally:
        _OUTPUTS.clear()
        _OUTPUTS.update(outer[0])
        _MIXED[:] = outer[1]


def check_no_output(about: os.stat_result) -> None:
    """Raise OutputError if the running command will replace this file, which it is about to read.

    The command then writes nothing, even if a reader goes on without the file.
    """
    option = _OUTPUTS.get((about.st_dev, about.st_ino)) if _OUTPUTS else None
    if option is not None:
        _MIXED.append(OutputError(f"{option}: is an input of this command; name another file"))
        raise _MIXED[0]


def check_no_outputs(paths: Iterable[Path]) -> None:
    """Raise OutputError if the running command will replace one of these inputs."""
    if not _OUTPUTS:
        return
    for path in paths:
        if is_there(path):
            check_no_output(path.stat())


def write_atomic(path: Path, content: bytes | str | Iterable[bytes | str]) -> None:
    """Write a file so that readers see either the old or the new content.

    Content may come in pieces, which are written as soon as they are made. A replaced file keeps
    its mode. Devices and pipes get the content once all of it is made.

    Raises InputError if the file cannot be written, StorageError if the disk is full, OutputError
    if the command has read one of its outputs. A pipe whose reader has gone is not an error.
    """
    if _MIXED:
        raise _MIXED[0]
    pieces = (content,) if isinstance(content, bytes | str) else content
    try:
        number = open_file(path)
        about = None if number is not None else _about(path)
        if number is not None or (about is not None and not stat.S_ISREG(about.st_mode)):
            data = b"".join(map(_bytes, pieces))
            _write_through(_opened(path, about) if number is None else os.dup(number), data)
        else:
            _replace(Path(os.path.realpath(path)), pieces, about)
            if about is not None:  # another file may get its inode
                _OUTPUTS.pop((about.st_dev, about.st_ino), None)
    except OSError as error:
        raise cannot_write(path, error) from error


def write_if_changed(path: Path, content: bytes | str) -> bool:
    """Write a file unless it already has this content.

    Build tools then see no change. Returns True if the file was written.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.is_file() and open_file(path) is None and path.read_bytes() == data:
        return False
    write_atomic(path, data)
    return True


def _bytes(piece: bytes | str) -> bytes:
    # Python represents paths that are not UTF-8 with surrogates, which are written as on a
    # terminal.
    return piece.encode("utf-8", "backslashreplace") if isinstance(piece, str) else piece


def _about(path: Path) -> os.stat_result | None:
    """Return the status of a path's target; None if nothing is there."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def open_file(path: Path) -> int | None:
    """Return the descriptor of this process that a path names, such as /dev/stdout or /dev/fd/3.

    Such a file is written at its current position. A new file in its place would never reach its
    readers, and opening it again would start at the beginning.
    """
    at = path
    for _ in range(_LINKS):
        folder = Path(os.path.realpath(at.parent))
        own = folder.parts[:3] == ("/", "proc", str(os.getpid())) and folder.name == "fd"
        if at.name.isdecimal() and (own or folder == Path("/dev/fd")):
            return int(at.name)
        try:
            at = folder / (folder / at.name).readlink()
        except OSError:
            return None  # not a link
    return None


def _opened(path: Path, about: os.stat_result | None) -> int:
    """Open a file that is not regular, without creating, emptying or waiting for it forever."""
    if about is None or not stat.S_ISFIFO(about.st_mode):
        return os.open(path, os.O_WRONLY | os.O_NOCTTY)
    end = time.monotonic() + READER_WAIT
    while True:
        try:
            file = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() >= end:
                raise InputError(
                    f"{path}: cannot write: nobody has opened this FIFO for reading"
                ) from error
            time.sleep(0.05)
            continue
        os.set_blocking(file, True)
        return file


def _write_through(file: int, data: bytes) -> None:
    """Write to an open file, and close it; a reader that closed it is no error."""
    sys.stdout.flush()  # earlier output must come first if it is the same file
    with os.fdopen(file, "wb", buffering=0) as stream, contextlib.suppress(BrokenPipeError):
        rest = memoryview(data)
        while rest:
            rest = rest[stream.write(rest) or 0 :]


def _replace(path: Path, pieces: Iterable[bytes | str], about: os.stat_result | None) -> None:
    """Write a regular file next to path, then rename it to path.

    about: status of the existing file, if any
    """
    # Imported here, since tempfile takes 4 ms and most commands write no file.
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    # Names can have 255 bytes, so the temporary name uses only their beginning.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in pieces:
                file.write(_bytes(piece))
        # mkstemp creates files with mode 0600: set the mode of an ordinary open(), or the old
        # file's.
        mask = os.umask(0)
        os.umask(mask)
        if about is not None and (about.st_uid, about.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(PermissionError):  # as in any editor that does not run as root
                os.chown(temporary, about.st_uid, about.st_gid)
        temporary.chmod(0o666 & ~mask if about is None else about.st_mode & 0o777)
        temporary.replace(path)
    finally:
        # After a success the file is already renamed; making a piece can raise an exception.
        temporary.unlink(missing_ok=True)
