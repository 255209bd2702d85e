"""Write files whole or not at all, and only when their content changed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from sizeguard.base.errors import InputError


def write_atomic(path: Path, content: bytes | str | Iterable[bytes | str]) -> None:
    """Write a file so that a reader sees the old or the new content, never a part.

    Content may come in pieces, which are written as they are made.

    Raises InputError if the folder cannot be written or the disk is full.
    """
    pieces = (content,) if isinstance(content, bytes | str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in pieces:
                file.write(piece.encode() if isinstance(piece, str) else piece)
        # mkstemp creates 0600: give what an ordinary open() would have given.
        mask = os.umask(0)
        os.umask(mask)
        Path(temporary).chmod(0o666 & ~mask)
        Path(temporary).replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot write: {error.strerror}") from error
    finally:
        # There is none after a success; an exception may come from making a piece.
        Path(temporary).unlink(missing_ok=True)


def write_if_changed(path: Path, content: bytes | str) -> bool:
    """Write atomically unless the file holds this content already.

    Build tools then see no change. Returns True if the file was written.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data:
        return False
    write_atomic(path, data)
    return True
